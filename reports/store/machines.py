"""Name the environment of each measurement: machine, versions, device, x64 setting and XLA flags.

The name comes from the records, not from the name of their folder, because two machines may use the
same folder name. Only a process that ended before it started JAX takes the environment of other
processes in its folder.
"""

import functools
import hashlib
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from jaxmeter import Environment

from .load import StoredRecord

UNKNOWN = "unknown"


@dataclass(frozen=True)
class _Process:
    """A process, with its place in the store and its environment.

    A field that was not recorded is None.
    """

    commit: str
    environment_key: str
    case: str
    cpus: int | None
    """Number of CPUs of the machine: the largest number that any of its processes recorded at this
    commit and environment key. A process that is bound to one CPU records only this CPU.
    """
    machine: str | None = None
    python: str | None = None
    jax: str | None = None
    jaxlib: str | None = None
    device: str | None = None
    """Backend and kind of device; None if JAX was never started."""
    x64: object = None
    flags: str | None = None

    def may_be(self, other: "_Process") -> bool:
        """Return whether both processes may have the same machine and versions.

        Only fields that both processes recorded are compared. Flags are not compared, because a
        process that ended early has the flags of its parent.
        """
        names = ("machine", "python", "jax", "jaxlib")
        pairs = [(getattr(self, name), getattr(other, name)) for name in names]
        return all(None in (mine, theirs) or mine == theirs for mine, theirs in pairs)

    @property
    def environment(self) -> str:
        """The name of the process's environment."""
        parts = [
            self.machine or UNKNOWN,
            None if self.cpus is None else f"{self.cpus} CPU{'s' if self.cpus > 1 else ''}",
            self.python and f"Python {self.python}",
            f"JAX {self.jax}",
            None if self.jaxlib in (None, self.jax) else f"jaxlib {self.jaxlib}",
            self.device,
            None if self.x64 is None else "x64" if self.x64 else "no x64",
            self.flags,
        ]
        return ", ".join(part for part in parts if part)


def machine_name(environment: Environment | None) -> str:
    """Return a machine's short name, which depends on host, system, processor and memory.

    The name is "unknown" if `environment` is None. It does not depend on the device, which a
    process cannot record before it has started JAX.
    """
    if environment is None:
        return UNKNOWN
    host = re.sub(r"[^\w.]+", "-", environment.machine or "").strip("-") or "host"
    ram = environment.ram_bytes
    hardware = (
        environment.machine,
        (environment.platform or "").split("-")[0],
        environment.cpu_model,
        None if ram is None else round(ram / 2**30),  # kernels reserve small, different amounts
    )
    return f"{host}-{hashlib.sha256(repr(hardware).encode()).hexdigest()[:6]}"


def environment_names(records: Sequence[StoredRecord]) -> list[str]:
    """Return the name of each record's environment: machine, versions, device, x64 and flags.

    Numbers of two environments are never pooled and never compared. A process that ended before it
    started JAX takes the environment of other processes with its environment key, at any commit.
    Only processes that may have the same machine and versions are used. If these processes have
    several environments, some processes are preferred, in the order below. "Same" means the same
    as in the process that ended early.

    1. processes of a machine that has a process at the same commit
    2. processes of the same case
    3. processes with the same flags
    4. processes with the same number of CPUs
    5. processes at the same commit

    If several environments or none remain, the name is "unknown". Pass the records of all commits
    at once, because a record may take its environment from records of another commit.
    """
    return _names(records, "device", "environment")


def machine_names(records: Sequence[StoredRecord]) -> list[str]:
    """Return the name of each record's machine.

    A process that did not record its machine takes the machine of other processes, by the rules of
    `environment_names`. The other processes need not have started JAX. If they have no
    known machine or several machines, the name is "unknown".
    """
    return _names(records, "machine", "machine")


def _names(
    records: Sequence[StoredRecord],
    known: Literal["device", "machine"],
    wanted: Literal["environment", "machine"],
) -> list[str]:
    """Return, for each process, the name `wanted` of all processes from which it may be taken.

    Only processes that recorded the field `known` are candidates. A process that started JAX keeps
    its own name, and so does a process that recorded its version of JAX, if no candidate with its
    environment key can have the same machine and versions. Several names or none are "unknown".
    """
    processes = _processes(records)
    folders: dict[str, list[_Process]] = defaultdict(list)
    for process in dict.fromkeys(processes):
        if getattr(process, known) is not None:
            folders[process.environment_key].append(process)
    preferred = functools.cache(
        lambda process: _preferred(process, folders.get(process.environment_key, ()))
    )
    found = ({getattr(other, wanted) for other in preferred(process)} for process in processes)
    return [names.pop() if len(names) == 1 else UNKNOWN for names in found]


def _preferred(process: _Process, folder: Sequence[_Process]) -> list[_Process]:
    fitting = [other for other in folder if process.may_be(other)]
    if process.device is not None or (process.jax is not None and not fitting):
        return [process]
    machines = {other.machine for other in fitting if other.commit == process.commit}

    def rank(other: _Process) -> tuple[bool, ...]:
        return (
            other.machine in machines,
            other.case == process.case,
            other.flags == process.flags,
            other.cpus == process.cpus,
            other.commit == process.commit,
        )

    best = max(map(rank, fitting), default=())
    return [other for other in fitting if rank(other) == best]


def _processes(records: Sequence[StoredRecord]) -> list[_Process]:
    """Return the process of each record, in the order of the records."""
    folders = [
        (stored.commit, stored.environment_key, machine_name(stored.record.environment))
        for stored in records
    ]
    cpus: dict[tuple[str, str, str], int] = {}
    for folder, stored in zip(folders, records, strict=True):
        environment = stored.record.environment
        if environment is not None and environment.cpus_available is not None:
            cpus[folder] = max(environment.cpus_available, cpus.get(folder, 0))
    return [
        _process(stored, folder[2], cpus.get(folder))
        for folder, stored in zip(folders, records, strict=True)
    ]


def _process(stored: StoredRecord, machine: str, cpus: int | None) -> _Process:
    environment = stored.record.environment
    place = (stored.commit, stored.environment_key, stored.case, cpus)
    if environment is None:
        return _Process(*place)
    backend, kind = environment.backend, environment.device_kind
    return _Process(
        *place,
        machine=machine,
        python=".".join(environment.python.split(".")[:2]),
        jax=environment.jax,
        jaxlib=environment.jaxlib,
        device=backend if kind in (None, backend) else f"{backend} {kind}",
        x64=environment.jax_options.get("jax_enable_x64"),
        flags=environment.xla_flags,
    )
