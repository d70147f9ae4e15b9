"""Which machine, and with which JAX, something was measured: what may be compared with what.

Told by the records themselves, never by the folder they lie in: two machines may have made
environments of one name.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Any, cast

import pandas as pd

from .frames import Row, rows

UNKNOWN = "unknown"

# Beside the machine: what a program is made and run with. Numbers across these are not compared.
VERSIONS = ("jax_version", "jaxlib_version", "backend", "device_kind", "xla_flags")


def machine_name(environment: Mapping[str, Any] | None) -> str:
    """A short name that differs where the host, the processor, the memory or the device does.

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
        environment.get("device_kind"),
    )
    return f"{host}-{hashlib.sha256(repr(told).encode()).hexdigest()[:6]}"


def with_setting(measured: pd.DataFrame) -> pd.DataFrame:
    """`tables.measurements` with a column `setting`: machine, JAX, backend, in words.

    Processes that ended before they could tell take the setting of their folder, where it has only
    one. Numbers of two settings are never pooled and never compared.
    """
    columns = ["machine", "platform", "cpu_model", "ram_bytes", *VERSIONS]
    known = measured["jax_version"].notna()
    distinct = cast(pd.DataFrame, measured.loc[known, columns].drop_duplicates())
    names = {_key(row): _setting(row) for row in rows(distinct)}
    settings = [
        names[_key(row)] if is_known else None
        for row, is_known in zip(rows(measured.reindex(columns=columns)), known, strict=True)
    ]
    frame = measured.assign(setting=pd.Series(settings, index=measured.index, dtype=object))
    folders = frame.groupby(["commit", "environment_key"])["setting"]
    only = folders.transform(lambda found: _only(found))
    return frame.assign(setting=frame["setting"].where(frame["setting"].notna(), only))


def _only(found: pd.Series) -> str:
    names = found.dropna().unique()
    return str(names[0]) if len(names) == 1 else UNKNOWN


def _setting(row: Row) -> str:
    plain = {name: None if pd.isna(value) else value for name, value in row.items()}
    parts = [machine_name(plain), f"JAX {plain['jax_version']}"]
    if plain["jaxlib_version"] != plain["jax_version"]:
        parts.append(f"jaxlib {plain['jaxlib_version']}")
    parts += [str(plain[name]) for name in ("backend", "xla_flags") if plain[name]]
    return ", ".join(parts)


def _key(row: Row) -> tuple[str, ...]:
    return tuple("" if pd.isna(value) else str(value) for value in row.values())
