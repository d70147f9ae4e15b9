"""Which machine, and with which JAX, something was measured: what may be compared with what.

Told by the records themselves, never by the folder they lie in: two machines may have made
environments of one name. Only what a process did not live to tell is taken from its neighbours.
"""

import functools
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

UNKNOWN = "unknown"

PLACE = ("commit", "environment_key", "case")
HOST = ("machine", "platform", "cpu_model", "ram_bytes")
MADE_WITH = (
    "python_version",
    "jax_version",
    "jaxlib_version",
    "backend",
    "device_kind",
    "jax_options",
    "xla_flags",
)


@dataclass(frozen=True)
class _Told:
    """What one process said of itself; None for what it ended too early to know."""

    machine: str | None
    python: str | None
    jax: str | None
    jaxlib: str | None
    device: str | None
    """Backend and kind of device: None where JAX was never started."""
    x64: bool | None
    flags: str | None

    def may_be(self, other: "_Told") -> bool:
        """Whether nothing that is known of both differs.

        But the flags: of a process that left no word at all they are those of its parent.
        """
        names = ("machine", "python", "jax", "jaxlib")
        pairs = [(getattr(self, name), getattr(other, name)) for name in names]
        return all(None in (mine, theirs) or mine == theirs for mine, theirs in pairs)


@dataclass(frozen=True)
class _Process:
    commit: str
    environment_key: str
    case: str
    told: _Told
    cpus: int | None
    """Of its machine: the most that any process of its folder saw, since some are bound to one."""


def machine_name(environment: Mapping[str, Any] | None) -> str:
    """A short name that differs where the host, the system, the processor or the memory does.

    Not the device, of which a process that ended before it started JAX knows nothing.

    Parameters
    ----------
    environment : mapping or None
        A record's environment as plain data; None where the process never told.
    """
    if not environment:
        return UNKNOWN
    host = re.sub(r"[^\w.]+", "-", str(environment.get("machine") or "")).strip("-") or "host"
    ram = environment.get("ram_bytes")
    told = (
        environment.get("machine"),
        str(environment.get("platform") or "").split("-")[0],
        environment.get("cpu_model"),
        None if ram is None else round(ram / 2**30),  # kernels reserve a little, and differ in it
    )
    return f"{host}-{hashlib.sha256(repr(told).encode()).hexdigest()[:6]}"


def with_setting(measured: pd.DataFrame) -> pd.DataFrame:
    """`tables.measurements` with a column `setting`: machine, Python, JAX, device, in words.

    Numbers of two settings are never pooled and never compared. A process that ended before JAX
    had started takes the setting of those of its environment's folder, at whatever commit, that
    may be its own: of its machine and versions, then rather of its case, its flags, its number of
    CPUs and its commit. It is "unknown" where these leave several. So give the measurements of all
    commits at once, that one may tell the setting of another.
    """
    processes = _processes(measured)
    distinct = list(dict.fromkeys(processes))
    folders: dict[str, list[_Process]] = {}
    for process in distinct:
        if process.told.device is not None:
            folders.setdefault(process.environment_key, []).append(process)
    names = {
        process: _name(process)
        if process.told.device is not None
        else _name_of_silent(process, folders.get(process.environment_key, []))
        for process in distinct
    }
    found = [names[process] for process in processes]
    return measured.assign(setting=pd.Series(found, index=measured.index, dtype=object))


def _name_of_silent(process: _Process, folder: Iterable[_Process]) -> str:
    fitting = [other for other in folder if process.told.may_be(other.told)]
    if not fitting:
        return UNKNOWN if process.told.jax is None else _name(process)
    machines = {other.told.machine for other in fitting if other.commit == process.commit}
    alike: tuple[Callable[[_Process], bool], ...] = (
        lambda other: other.told.machine in machines,
        lambda other: other.case == process.case,
        lambda other: other.told.flags == process.told.flags,
        lambda other: other.cpus == process.cpus,
        lambda other: other.commit == process.commit,
    )
    for is_alike in alike:
        fitting = [other for other in fitting if is_alike(other)] or fitting
    names = {_name(other) for other in fitting}
    return names.pop() if len(names) == 1 else UNKNOWN


def _name(process: _Process) -> str:
    told, cpus = process.told, process.cpus
    parts = [
        told.machine or UNKNOWN,
        None if cpus is None else f"{cpus} CPU{'s' if cpus > 1 else ''}",
        told.python and f"Python {told.python}",
        f"JAX {told.jax}",
        None if told.jaxlib in (None, told.jax) else f"jaxlib {told.jaxlib}",
        told.device,
        None if told.x64 is None else "x64" if told.x64 else "no x64",
        told.flags,
    ]
    return ", ".join(part for part in parts if part)


def _processes(measured: pd.DataFrame) -> list[_Process]:
    """What each row tells of its process, in their order."""
    wanted = [*PLACE, "cpus_available_count", *HOST, *MADE_WITH]
    frame = measured.reindex(columns=wanted).astype(object)
    lines = frame.where(frame.notna(), None).to_numpy().tolist()
    told = [_told(tuple(line[len(PLACE) + 1 :])) for line in lines]
    folders = [(line[0], line[1], one.machine) for line, one in zip(lines, told, strict=True)]
    most: dict[tuple[str | None, ...], int] = {}
    for folder, line in zip(folders, lines, strict=True):
        if line[3] is not None:
            most[folder] = max(int(line[3]), most.get(folder, 0))
    return [
        _Process(line[0], line[1], line[2], one, most.get(folder))
        for line, one, folder in zip(lines, told, folders, strict=True)
    ]


@functools.lru_cache(maxsize=4096)
def _told(values: tuple[Any, ...]) -> _Told:
    row: dict[str, Any] = dict(zip((*HOST, *MADE_WITH), values, strict=True))
    python, backend, kind = row["python_version"], row["backend"], row["device_kind"]
    options = json.loads(row["jax_options"] or "{}")
    return _Told(
        machine=None if row["machine"] is None else machine_name(row),
        python=None if python is None else ".".join(python.split(".")[:2]),
        jax=row["jax_version"],
        jaxlib=row["jaxlib_version"],
        device=backend if kind in (None, backend) else f"{backend} {kind}",
        x64=options.get("jax_enable_x64"),
        flags=row["xla_flags"],
    )
