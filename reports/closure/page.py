"""Make the report of the closure study from its records."""

from pathlib import Path

import pandas as pd

from ..document.section import Section
from ..report import Report, assembled, at, chosen_place, common_tables
from ..sections import problems
from ..store.load import read_store
from ..tables import environments
from . import further, summaries, variants, versions

FRAMES_LESSON = (
    *variants.LESSON,
    "All variants compute the same frame of the same system. The cached variant closes over the "
    "rate maps of star and disk on purpose. The hoisted variant is the closure after "
    "jaxmeter.hoist has turned its arrays into arguments. The static-callable variant takes the "
    "system as an argument, but callables in the system's metadata capture two tables. Each "
    "process compares its frame with a frame that another process computed from the same arrays, "
    "passed as arguments.",
    "docs/closure.md explains the published numbers, which were measured with another program "
    "(coronagraphoto) on another machine. Therefore, compare each closure only with its own "
    "argument variant.",
)
CASING_LESSON = (
    *variants.LESSON,
    "The cached variant closes over the small matrices of the casing that interpolate a field, and "
    "takes the other arrays as arguments. The hoisted variant is the closure after jaxmeter.hoist. "
    "The static-callable variant takes an argument with a callable in its metadata, and this "
    "callable captures the casing.",
)


def make_closure_report(
    study: Path,
    *,
    casing_store: str | Path | None = None,
    commit: str | None = None,
    environment: str | None = None,
    kept_versions: Path = versions.KEPT,
) -> Report:
    """Return the tables and the page of the closure study in the folder `study`.

    The records are in the store `study`/cases. There may also be audits, at
    `study`/audits/<commit>/<environment-key>.json, and a file `study`/picture.png. `commit` and
    `environment` are beginnings of a commit hash and of an environment key. The default is the
    commit that was measured last, in its environment with the most processes. `casing_store` is the
    store of the virtual casing, by default `study`/casing. If this store has no records of the
    environment, the page has no section on the casing. `kept_versions` is the folder that
    `versions.kept` reads.
    """
    everything = common_tables(read_store(study / "cases"))
    measured = everything["measurements"]
    everything |= {
        "closure_versus_argument": summaries.variants(measured),
        "changes": summaries.changes(measured),
        "script_calls": summaries.script_calls(measured),
        "capture_sizes": summaries.curve(measured),
        "kept_versions": versions.kept(kept_versions),
    }
    everything["versions"] = versions.rows_by_version(
        everything["closure_versus_argument"], everything["environments"]
    )
    place = chosen_place(everything["environments"], commit, environment, "processes_count")
    here = {name: at(frame, place) for name, frame in everything.items()}
    here |= {name: everything[name] for name in ("versions", "kept_versions")}
    casing, failed = _casing(Path(casing_store or study / "casing"), place[1])
    here["failures"] = pd.concat([here["failures"], failed], ignore_index=True)
    sections = [
        *_frames(here, place[0], study / "picture.png"),
        further.break_even(here["capture_sizes"], here["closure_versus_argument"]),
        further.audited(study / "audits" / place[0] / f"{place[1]}.json"),
        casing,
        problems.section(here["failures"]),
    ]
    return assembled("Closing over arrays, measured", place, everything, here, sections)


def _frames(here: dict[str, pd.DataFrame], commit: str, picture: Path) -> list[Section | None]:
    """Return the sections on the simulated frames; an empty list if no frame was measured."""
    cases, measured = here["closure_versus_argument"], here["measurements"]
    if cases.empty:
        return []
    found = here["versions"]
    by_version = versions.with_kept(found.loc[found["commit"] == commit], here["kept_versions"])
    return [
        variants.section(
            here,
            title="Closure against argument: published and measured",
            picture=picture if picture.exists() else None,
            with_published=True,
            paragraphs=FRAMES_LESSON,
        ),
        further.spread(cases, _runs(measured, here["samples"]), here["script_calls"]),
        further.change(here["changes"]),
        versions.section(by_version),
    ]


def _runs(measured: pd.DataFrame, samples: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each recorded run, with the seconds that the run took.

    Only runs of successful processes in the suite `summaries.FRAMES`, which computes simulated
    frames, are included. Run 0 is the first call after compiling. Run i + 1 is the steady-state run
    with `sample_index` i. The warm-up call between runs 0 and 1 is not recorded.
    """
    good = (measured["status"] == "ok") & (measured["suite"] == summaries.FRAMES)
    names = ["case", "round_index", "size", "workload", "variant", "run", "seconds"]
    first = measured.loc[good].assign(run=0, seconds=measured["first_call_seconds"])
    later = samples.merge(first[names[:5]], on=names[:2])
    later = later.assign(run=later["sample_index"] + 1, seconds=later["steady_seconds"])
    return pd.concat([first, later], ignore_index=True).reindex(columns=names)


def _casing(store: Path, environment: str) -> tuple[Section | None, pd.DataFrame]:
    """Return the section on the virtual casing, and the casing's rows of the table "failures".

    The section is None if no process of the casing succeeded in the environment of the page. All
    numbers and rows are from the commit that was measured last in this environment.
    """
    if not any(store.rglob("*.json")):
        return None, pd.DataFrame()
    tables = common_tables(read_store(store))
    measured, failed = tables["measurements"], tables["failures"]
    measured = measured.loc[measured["suite"] == summaries.CASING]
    measured = measured.loc[measured["environment_key"] == environment]
    failed = failed.loc[failed["suite"].isna() | (failed["suite"] == summaries.CASING)]
    if measured.empty:
        return None, failed.loc[failed["suite"].isna()]
    place = chosen_place(environments(measured), None, None, "last_started_utc")
    tables |= {"measurements": measured, "closure_versus_argument": summaries.variants(measured)}
    section = variants.section(
        {name: at(table, place) for name, table in tables.items()},
        name="casing",
        title="Closure against argument for the virtual casing",
        paragraphs=CASING_LESSON,
    )
    return section, at(failed, place)
