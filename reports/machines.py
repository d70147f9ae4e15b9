"""Name the environment of each measurement: machine, Python, JAX and device.

The records themselves say it, never the folder they lie in, since two machines may use one folder
name. Only a process that ended too early to say takes the environment of its neighbours.
"""

import functools
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from .frames import numeric

UNKNOWN = "unknown"

PLACE = ("commit", "environment_key", "case")
HOST = ("machine", "platform", "cpu_model", "ram_bytes")
VERSIONS = ("python_version", "jax_version", "jaxlib_version")
MADE_WITH = (*VERSIONS, "backend", "device_kind", "jax_options", "xla_flags")


@dataclass(frozen=True)
class _Recorded:
    """What one process recorded of itself; None for what it ended too early to know."""

    machine: str | None
    python: str | None
    jax: str | None
    jaxlib: str | None
    device: str | None
    """Backend and kind of device: None where JAX was never started."""
    x64: bool | None
    flags: str | None

    def may_be(self, other: "_Recorded") -> bool:
        """Return whether nothing that is known of both differs.

        Flags are not compared: those of a process that recorded nothing are its parent's.
        """
        names = ("machine", "python", "jax", "jaxlib")
        pairs = [(getattr(self, name), getattr(other, name)) for name in names]
        return all(None in (mine, theirs) or mine == theirs for mine, theirs in pairs)


@dataclass(frozen=True)
class _Process:
    commit: str
    environment_key: str
    case: str
    recorded: _Recorded
    cpus: int | None
    """Of its machine: the maximum over the processes of its folder, since some are bound to one."""


def machine_name(environment: Mapping[str, Any] | None) -> str:
    """Return a short name that differs where host, system, processor or memory does.

    It leaves the device out, which a process that ended before it started JAX does not know.

    Parameters
    ----------
    environment : mapping or None
        A record's environment as plain data; None where the process recorded none.
    """
    if not environment:
        return UNKNOWN
    host = re.sub(r"[^\w.]+", "-", str(environment.get("machine") or "")).strip("-") or "host"
    ram = environment.get("ram_bytes")
    hardware = (
        environment.get("machine"),
        str(environment.get("platform") or "").split("-")[0],
        environment.get("cpu_model"),
        None if ram is None else round(ram / 2**30),  # kernels reserve a little, and differ in it
    )
    return f"{host}-{hashlib.sha256(repr(hardware).encode()).hexdigest()[:6]}"


def with_environment(measured: pd.DataFrame) -> pd.DataFrame:
    """Return `tables.measurements` with a column `environment`: machine, Python, JAX, device.

    Numbers of two environments are never pooled and never compared. A process that ended before JAX
    had started takes the environment of others in its folder, at any commit, that agree with it in
    machine and versions, then preferably in case, flags, number of CPUs and commit. If several are
    left it is "unknown". Give the measurements of all commits at once, so that one can complete the
    other.
    """
    processes = _processes(measured)
    folders: dict[str, list[_Process]] = {}
    for process in dict.fromkeys(processes):
        if process.recorded.device is not None:
            folders.setdefault(process.environment_key, []).append(process)
    name = functools.cache(lambda process: _named(process, folders))
    return measured.assign(environment=pd.Series(map(name, processes), measured.index, object))


def _named(process: _Process, folders: Mapping[str, Sequence[_Process]]) -> str:
    """Return the environment's name, by the process itself or by the others in its folder."""
    recorded = process.recorded
    if recorded.device is not None:
        return _name(process)
    folder = folders.get(process.environment_key, ())
    fitting = [other for other in folder if recorded.may_be(other.recorded)]
    if not fitting:
        return UNKNOWN if recorded.jax is None else _name(process)
    machines = {other.recorded.machine for other in fitting if other.commit == process.commit}
    preferred: tuple[Callable[[_Process], bool], ...] = (
        lambda other: other.recorded.machine in machines,
        lambda other: other.case == process.case,
        lambda other: other.recorded.flags == recorded.flags,
        lambda other: other.cpus == process.cpus,
        lambda other: other.commit == process.commit,
    )
    for is_preferred in preferred:
        fitting = [other for other in fitting if is_preferred(other)] or fitting
    names = {_name(other) for other in fitting}
    return names.pop() if len(names) == 1 else UNKNOWN


def _name(process: _Process) -> str:
    recorded, cpus = process.recorded, process.cpus
    parts = [
        recorded.machine or UNKNOWN,
        None if cpus is None else f"{cpus} CPU{'s' if cpus > 1 else ''}",
        recorded.python and f"Python {recorded.python}",
        f"JAX {recorded.jax}",
        None if recorded.jaxlib in (None, recorded.jax) else f"jaxlib {recorded.jaxlib}",
        recorded.device,
        None if recorded.x64 is None else "x64" if recorded.x64 else "no x64",
        recorded.flags,
    ]
    return ", ".join(part for part in parts if part)


def _processes(measured: pd.DataFrame) -> list[_Process]:
    """Return the process of each row, in their order."""
    wanted = [*PLACE, "cpus_available_count", *HOST, *MADE_WITH]
    frame: Any = measured.reindex(columns=wanted).astype(object)
    frame = frame.where(frame.notna(), None)
    known = frame[[*HOST, *MADE_WITH]].itertuples(index=False, name=None)
    recorded = [_recorded(values) for values in known]
    folder = [frame["commit"], frame["environment_key"], [one.machine for one in recorded]]
    cpus = numeric(frame["cpus_available_count"]).groupby(folder, dropna=False).transform("max")
    places = frame[list(PLACE)].itertuples(index=False, name=None)
    return [
        _Process(*place, recorded=one, cpus=None if pd.isna(count) else int(count))
        for place, one, count in zip(places, recorded, cpus, strict=True)
    ]


@functools.lru_cache(maxsize=4096)
def _recorded(values: tuple[Any, ...]) -> _Recorded:
    row: dict[str, Any] = dict(zip((*HOST, *MADE_WITH), values, strict=True))
    python, backend, kind = row["python_version"], row["backend"], row["device_kind"]
    options = json.loads(row["jax_options"] or "{}")
    return _Recorded(
        machine=None if row["machine"] is None else machine_name(row),
        python=None if python is None else ".".join(python.split(".")[:2]),
        jax=row["jax_version"],
        jaxlib=row["jaxlib_version"],
        device=backend if kind in (None, backend) else f"{backend} {kind}",
        x64=options.get("jax_enable_x64"),
        flags=row["xla_flags"],
    )
