"""From the two stores to everything a report holds: tables, the page's head, its sections."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from . import tables
from .closure.variants import closure_section
from .document.section import Section
from .errors import ReportError
from .frames import Row, groups, rows
from .load import read_store
from .load_asv import read_asv
from .sections import sections, summaries


@dataclass(frozen=True)
class Fact:
    """A name and a value of the page's head."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Report:
    """All that is written: tidy tables of the whole store, and one commit's page."""

    title: str
    commit: str
    environment_key: str
    facts: tuple[Fact, ...]
    sections: tuple[Section, ...]
    tables: dict[str, pd.DataFrame]
    skipped_count: int
    ended_well_count: int
    """Processes on the page that succeeded; without any the page has failures alone."""


def make_report(
    store: str | Path,
    asv: str | Path | None = None,
    *,
    commit: str | None = None,
    environment: str | None = None,
) -> Report:
    """Read both stores and make every table, and the page of one commit in one environment.

    Parameters
    ----------
    store : path
        Folder of cases, <commit>/<environment-key>/<case>/<round>.json.
    asv : path, optional
        asv's results folder; without it the page says nothing of asv.
    commit, environment : str, optional
        Beginning of a commit and of an environment key; by default those measured last.

    Raises
    ------
    ReportError
        If a folder is missing, nothing can be read, or no measurement matches.
    """
    read = read_store(store)
    kept = read_asv(asv) if asv is not None else None
    skipped = read.skipped + (kept.skipped if kept is not None else ())
    measured = tables.measurements(read)
    everything = {
        "measurements": measured,
        "samples": tables.samples(read),
        "captured_arrays": tables.captured_arrays(read),
        "closure_versus_argument": summaries.closure_versus_argument(measured),
        "chunk_sizes": summaries.chunk_sizes(measured),
        "accuracy": summaries.accuracy(measured),
        "against_reference": summaries.against_reference(measured),
        "gradient_against_reference": summaries.against_reference(measured, gradient=True),
        "preparation": summaries.preparation(measured),
        "failures": tables.failures(measured, skipped),
        "environments": tables.environments(measured),
    }
    if kept is not None:
        everything["asv_results"] = kept.table
    place = _chosen_place(everything["environments"], commit, environment)
    here = {name: at(frame, place) for name, frame in everything.items()}
    return Report(
        "vcjax, measured",
        *place,
        facts(here, everything),
        _sections(here),
        everything,
        len(skipped),
        list(here["measurements"]["status"]).count("ok"),
    )


def _chosen_place(
    environments: pd.DataFrame, commit: str | None, environment: str | None
) -> tuple[str, str]:
    chosen = environments
    for name, start in (("commit", commit), ("environment_key", environment)):
        if start is not None:
            chosen = chosen.loc[chosen[name].str.startswith(start)]
    if chosen.empty:
        held = ", ".join(f"{r['commit']} in {r['environment_key']}" for r in rows(environments))
        raise ReportError(
            f"make_report: nothing measured for commit {commit!r}, environment {environment!r}; "
            f"the store holds {held}"
        )
    newest = chosen.sort_values("last_started_utc", na_position="first").iloc[-1]
    return str(newest["commit"]), str(newest["environment_key"])


def at(frame: pd.DataFrame, place: tuple[str, str]) -> pd.DataFrame:
    """The rows of one commit and environment; rows that belong to none are kept too."""
    if "commit" not in frame:
        return frame
    same = (frame["commit"] == place[0]) | frame["commit"].isna()
    if "environment_key" in frame:
        same &= (frame["environment_key"] == place[1]) | frame["environment_key"].isna()
    return frame.loc[same].reset_index(drop=True)


def _sections(here: dict[str, pd.DataFrame]) -> tuple[Section, ...]:
    made = []
    if len(here["closure_versus_argument"]):
        closure = here["closure_versus_argument"]
        made.append(closure_section(closure, here["measurements"], here["captured_arrays"]))
    if len(here["chunk_sizes"]):
        made.append(sections.chunk_section(here["chunk_sizes"]))
    if len(here["accuracy"]):
        made.append(sections.accuracy_section(here["accuracy"]))
    if len(here["against_reference"]):
        made.append(sections.reference_section(here["against_reference"]))
    if len(here["gradient_against_reference"]):
        gradients = here["gradient_against_reference"]
        made.append(sections.reference_section(gradients, gradient=True))
    if len(here["preparation"]):
        made.append(sections.preparation_section(here["preparation"]))
    made.append(sections.problems_section(here["failures"]))
    if len(here.get("asv_results", ())):
        made.append(sections.asv_section(here["asv_results"]))
    return tuple(made)


def facts(here: dict[str, pd.DataFrame], everything: dict[str, pd.DataFrame]) -> tuple[Fact, ...]:
    environment = rows(here["environments"])[0]
    measured = here["measurements"]
    others = len(everything["environments"]) - 1
    facts = [
        Fact("Commit", str(environment["commit"])[:12], _commit_date(here.get("asv_results"))),
        Fact("Measured", *_when(environment)),
        Fact("Machine", *_machine(environment)),
        Fact("Load", *_load(environment)),
        Fact("JAX", _known(environment["jax_version"]), _versions(environment)),
        Fact("Processes", *_processes(measured.loc[measured["status"] == "ok"])),
        Fact(
            "Failed or skipped",
            str(len(here["failures"])),
            "nothing" if here["failures"].empty else "listed below",
        ),
    ]
    if others:
        note = "more commits or environments, not on this page"
        facts.append(Fact("Also in the tables", str(others), note))
    return tuple(facts)


def _commit_date(asv_results: pd.DataFrame | None) -> str:
    dates = [] if asv_results is None else list(asv_results["commit_date_utc"].dropna())
    return f"of {dates[0]:%Y-%m-%d %H:%M} UTC" if dates else ""


def _when(environment: Row) -> tuple[str, str]:
    first, last = environment["first_started_utc"], environment["last_started_utc"]
    if pd.isna(first):
        return ("unknown", "")
    return (f"{last:%Y-%m-%d}", f"{first:%H:%M} to {last:%H:%M} UTC")


def _machine(environment: Row) -> tuple[str, str]:
    names = [environment[name] for name in ("cpu_model", "machine", "platform")]
    name = next((str(n) for n in names if not pd.isna(n) and n), "unknown")
    parts = []
    if not pd.isna(environment["cpus_available_count"]):
        parts.append(f"{environment['cpus_available_count']} cores")
    if not pd.isna(environment["ram_bytes"]):
        parts.append(f"{environment['ram_bytes'] / 1e9:.0f} GB")
    return name, ", ".join(parts)


def _load(environment: Row) -> tuple[str, str]:
    """The highest load before a process; beyond the processors, others worked there too."""
    load, cpus = environment["load_1min_before_highest"], environment["cpus_available_count"]
    if pd.isna(load):
        return "unknown", ""
    is_busy = not pd.isna(cpus) and load > cpus + 1
    note = "other programs were running: expect noise" if is_busy else "before a process, 1 min"
    return f"up to {load:.1f}", note


def _versions(environment: Row) -> str:
    named = {
        "backend": "",
        "jaxlib_version": "jaxlib ",
        "python_version": "Python ",
        "numpy_version": "numpy ",
    }
    known = {column: before for column, before in named.items() if not pd.isna(environment[column])}
    return ", ".join(f"{before}{environment[column]}" for column, before in known.items())


def _known(value: Any) -> str:
    return "unknown" if pd.isna(value) else str(value)


def _processes(good: pd.DataFrame) -> tuple[str, str]:
    """How many processes succeeded, and how many there are to a case of each suite."""
    each = []
    for suite, found in groups(good, ["suite"]):
        counts = [len(case) for _, case in groups(found, ["case"])]
        low, high = min(counts), max(counts)
        each.append(f"{suite['suite']} {low}" + (f" to {high}" if high > low else ""))
    note = f"to a case: {', '.join(each)}" if each else ""
    return f"{len(good)} in {good['case'].nunique()} cases", note
