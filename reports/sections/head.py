"""Make the facts in the head of a page, such as commit, machine and versions."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from ..document.section import Fact
from ..quantities import Row
from ..stats import is_busy
from ..tables import rows
from ..units import counted

VERSIONS = ("jaxlib", "Python", "numpy")


def facts(here: Mapping[str, pd.DataFrame], others_count: int) -> tuple[Fact, ...]:
    """Return the facts on one commit and environment, from the tables `here`.

    `others_count` is the number of other pairs of a commit and an environment in the store.
    """
    environment = rows(here["environments"])[0]
    measured, failures = here["measurements"], here["failures"]
    jax, failed = environment["jax_version"], "nothing" if failures.empty else "listed below"
    found = [
        Fact("Commit", str(environment["commit"])[:12]),
        Fact("Measured", *_when(environment)),
        Fact("Machine", *_machine(environment, len(set(measured["machine"].dropna())) - 1)),
        Fact("Load", *_load(environment)),
        Fact("JAX", "unknown" if pd.isna(jax) else str(jax), _versions(environment)),
        Fact("Processes", *_processes(measured.loc[measured["status"] == "ok"])),
        Fact("Failed or skipped", str(len(failures)), failed),
    ]
    if others_count:
        note = "other pairs of commit and environment"
        found.append(Fact("Also in the tables", str(others_count), note))
    return tuple(found)


def _when(environment: Row) -> tuple[str, str]:
    first, last = environment["first_started_utc"], environment["last_started_utc"]
    if pd.isna(first):
        return ("unknown", "")
    days = dict.fromkeys(f"{time:%Y-%m-%d}" for time in (first, last))
    return " to ".join(days), f"{first:%H:%M} to {last:%H:%M} UTC"


def _machine(environment: Row, others_count: int) -> tuple[str, str]:
    names = [environment[name] for name in ("cpu_model", "machine", "platform")]
    cpus, ram = environment["cpus_available_count"], environment["ram_bytes"]
    parts = [] if pd.isna(cpus) else [counted(cpus, "core")]
    parts += [] if pd.isna(ram) else [f"{ram / 1e9:.0f} GB"]
    if others_count > 0:
        others = counted(others_count, "other machine")
        parts.append(f"and {others}: times of several machines are mixed")
    return next((n for n in names if not pd.isna(n) and n), "unknown"), ", ".join(parts)


def _load(environment: Row) -> tuple[str, str]:
    """Return the largest load measured before a process, and a note about it."""
    load, cpus = environment["load_1min_before_highest"], environment["cpus_available_count"]
    if pd.isna(load):
        return "unknown", ""
    note = (
        "other programs were running: expect noise"
        if is_busy(load, cpus)
        else "one-minute load before a process"
    )
    return f"up to {load:.1f}", note


def _versions(environment: Row) -> str:
    named = {"backend": "", **{f"{name.lower()}_version": f"{name} " for name in VERSIONS}}
    known = {column: before for column, before in named.items() if not pd.isna(environment[column])}
    return ", ".join(f"{before}{environment[column]}" for column, before in known.items())


def _processes(good: Any) -> tuple[str, str]:
    """Return the numbers of successful processes and cases, with a note on processes per case."""
    counts = good.groupby(["suite", "case"]).size().groupby("suite").agg(["min", "max"])
    each = [
        f"{suite} {low}" + (f" to {high}" if high > low else "")
        for suite, low, high in counts.itertuples()
    ]
    note = f"per case: {', '.join(each)}" if each else ""
    return f"{len(good)} in {good['case'].nunique()} cases", note
