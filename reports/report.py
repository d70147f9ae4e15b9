"""Make a report from a store: tables of the whole store, and one page."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd

from . import tables
from .closure import summaries as closure
from .closure import variants
from .document.section import Document, Section
from .document.write import write_document
from .errors import ReportError
from .sections import accuracy, chunks, head, preparation, problems, reference
from .store.load import Store, read_store
from .tables import rows

INTERVALS = (
    "An interval is the narrowest symmetric pair of order statistics that contains the true median "
    "with at least 95 % probability. With fewer than six values, the interval is the range of all "
    "values."
)
# Name of each table, with two functions: the first makes the table, the second its section.
SECTIONS: dict[str, tuple[Callable[..., pd.DataFrame], Callable[..., Section]]] = {
    "chunk_sizes": (chunks.summary, chunks.section),
    "accuracy": (accuracy.summary, accuracy.section),
    "against_reference": (reference.summary, reference.section),
    "gradient_against_reference": (
        partial(reference.summary, gradient=True),
        partial(reference.section, gradient=True),
    ),
    "preparation": (preparation.summary, preparation.section),
}


@dataclass(frozen=True)
class Report:
    """Tables of the whole store, and the page of one commit in one environment.

    `succeeded_count` is the number of processes of this commit and environment that succeeded.
    """

    document: Document
    commit: str
    environment_key: str
    tables: dict[str, pd.DataFrame]
    succeeded_count: int


def make_report(
    store: str | Path, *, commit: str | None = None, environment: str | None = None
) -> Report:
    """Return the tables of a store, and the page of one commit in one environment.

    `commit` and `environment` are beginnings of a commit hash and of an environment key. The
    default is the commit that was measured last, in the environment where it was measured last.
    """
    everything = common_tables(read_store(store))
    measured = everything["measurements"]
    everything["closure_versus_argument"] = closure.variants(measured)
    everything |= {name: summary(measured) for name, (summary, _) in SECTIONS.items()}
    place = chosen_place(everything["environments"], commit, environment, "last_started_utc")
    here = {name: at(frame, place) for name, frame in everything.items()}
    sections = [
        variants.section(here),
        *(make(here[name]) for name, (_, make) in SECTIONS.items() if len(here[name])),
        problems.section(here["failures"]),
    ]
    return assembled("vcjax, measured", place, everything, here, sections)


def common_tables(read: Store) -> dict[str, pd.DataFrame]:
    """Return the tables that every report has, by name."""
    measured = tables.measurements(read)
    return {
        "measurements": measured,
        "samples": tables.samples(read),
        "captured_arrays": tables.captured_arrays(read),
        "failures": tables.failures(measured, read.skipped),
        "environments": tables.environments(measured),
    }


def assembled(
    title: str,
    place: tuple[str, str],
    everything: dict[str, pd.DataFrame],
    here: dict[str, pd.DataFrame],
    sections: Iterable[Section | None],
) -> Report:
    """Return the report of `place`, with all `sections` that are not None.

    `place` is a commit and an environment key. `everything` has the tables of the whole store.
    `here` has the common tables, reduced by `at` to the rows of `place`.
    """
    document = Document(
        title,
        head.facts(here, len(everything["environments"]) - 1),
        tuple(section for section in sections if section is not None),
        footer=(f"Environment key {place[1]}, commit {place[0]}.", INTERVALS),
        files=tuple(everything),
    )
    succeeded = list(here["measurements"]["status"]).count("ok")
    return Report(document, *place, everything, succeeded)


def write_report(report: Report, out: str | Path) -> Path:
    """Write the page, its Markdown, figures and all tables below `out`; return the page's path."""
    return write_document(report.document, report.tables, out)


def chosen_place(
    environments: pd.DataFrame, commit: str | None, environment: str | None, by: str
) -> tuple[str, str]:
    """Return the matching commit that was measured last, and one of its matching environments.

    `environments` is from `tables.environments`. `commit` and `environment` are beginnings of a
    commit hash and of an environment key; None matches everything. Of several matching
    environments, return the environment with the largest value in the column `by`.
    """
    chosen = environments
    for name, start in (("commit", commit), ("environment_key", environment)):
        if start is not None:
            chosen = chosen.loc[chosen[name].str.startswith(start)]
    if chosen.empty:
        held = ", ".join(f"{r['commit']} in {r['environment_key']}" for r in rows(environments))
        raise ReportError(
            f"chosen_place: nothing measured for commit {commit or '(any)'} in environment "
            f"{environment or '(any)'}; give the beginning of a commit hash and of an environment "
            f"key; the store has {held}"
        )
    newest = chosen.sort_values("last_started_utc", na_position="first").iloc[-1]["commit"]
    same = chosen.loc[chosen["commit"] == newest].sort_values(by, na_position="first")
    return str(newest), str(same.iloc[-1]["environment_key"])


def at(frame: pd.DataFrame, place: tuple[str, str]) -> pd.DataFrame:
    """Return the rows of the commit and environment `place`; a missing value matches any place."""
    for name, value in zip(tables.PLACE, place, strict=True):
        if name in frame:
            frame = frame.loc[(frame[name] == value) | frame[name].isna()]
    return frame.reset_index(drop=True)
