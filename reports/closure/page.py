"""From the study's records to everything its page holds."""

from pathlib import Path

import pandas as pd

from jaxmeter import Audit, JaxmeterError

from .. import report, tables
from ..document.section import Section
from ..errors import ReportError
from ..frames import rows
from ..load import read_store
from ..report import Report
from ..sections import sections
from ..sections.summaries import closure_versus_argument
from . import sections as study
from . import sections_beyond as beyond
from . import summaries, versions
from .variants import closure_section

TITLE = "Closing over arrays, measured"
LEAST_AUDITED_BYTES = 1000


def make_closure_report(
    store: str | Path,
    *,
    casing_store: str | Path | None = None,
    audits: str | Path | None = None,
    picture: str | Path | None = None,
    commit: str | None = None,
    environment: str | None = None,
    kept_versions: Path = versions.KEPT,
) -> Report:
    """Read the study's store and make its tables and page.

    Parameters
    ----------
    store : path
        Folder of the study's cases, <commit>/<environment-key>/<case>/<round>.json.
    casing_store : path, optional
        Folder of the suites' cases; the variants of the virtual casing are taken from it.
    audits, picture : path, optional
        Folder of audits, <commit>/<environment-key>.json, and a PNG; left out where there is none.
    commit, environment : str, optional
        Beginning of a commit and an environment key. By default the commit measured last, and of
        its environments the one with the most processes.
    kept_versions : Path
        Folder of the rows of other versions of JAX, see `versions`.

    Raises
    ------
    ReportError
        If nothing can be read, or no frame was measured.
    """
    read = read_store(store)
    samples = tables.samples(read)
    measured = summaries.with_study_columns(tables.measurements(read), samples)
    everything = {
        "measurements": measured,
        "samples": samples,
        "captured_arrays": tables.captured_arrays(read),
        "frames": summaries.frames(measured),
        "changes": summaries.changes(measured),
        "script_calls": summaries.script_calls(measured),
        "capture_sizes": summaries.curve(measured),
        "failures": tables.failures(measured, read.skipped),
        "environments": tables.environments(measured),
    }
    everything["versions"] = versions.rows_by_version(
        everything["frames"], everything["environments"]
    )
    everything["kept_versions"] = versions.kept(kept_versions)
    place = _chosen(measured, everything["environments"], commit, environment)
    here = {name: report.at(frame, place) for name, frame in everything.items()}
    made = _sections(here, everything, place, _existing(picture), _existing(audits))
    if casing_store is not None and Path(casing_store).is_dir():
        made += _casing(casing_store)
    made.append(sections.problems_section(here["failures"]))
    return Report(
        TITLE,
        *place,
        report.facts(here, everything),
        tuple(made),
        everything,
        len(read.skipped),
        list(here["measurements"]["status"]).count("ok"),
    )


def _sections(
    here: dict[str, pd.DataFrame],
    everything: dict[str, pd.DataFrame],
    place: tuple[str, str],
    picture: Path | None,
    audits: Path | None,
) -> list[Section]:
    made = []
    frames = here["frames"]
    if len(frames):
        made += [
            study.table_section(frames, picture),
            study.spread_section(frames, _runs(here), here["script_calls"]),
            study.slope_section(frames),
            study.memory_section(frames, _skipped(here["failures"])),
            study.equality_section(frames),
        ]
        if len(here["changes"]):
            made.append(beyond.change_section(here["changes"]))
        made.append(beyond.versions_section(_versions(everything, place[0])))
    if len(here["capture_sizes"]):
        made.append(beyond.curve_section(here["capture_sizes"], frames))
    found = [] if audits is None else _audited(audits / place[0] / f"{place[1]}.json")
    if found:
        made.append(beyond.audit_section(found))
    return made


def _versions(everything: dict[str, pd.DataFrame], commit: str) -> pd.DataFrame:
    measured = everything["versions"]
    same_commit = measured.loc[measured["commit"] == commit]
    return versions.with_kept(same_commit, everything["kept_versions"])


def _runs(here: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Seconds of each run of each frame's process, the first call as run 0."""
    cases = here["measurements"]
    good = (cases["status"] == "ok") & (cases["suite"] == summaries.FRAMES)
    keys = ["case", "round_index", "size", "variant"]
    cases = cases.loc[good, [*keys, "first_call_seconds"]]
    later = here["samples"].merge(cases[keys], on=["case", "round_index"])
    later = later.assign(run=later["sample_index"] + 1, seconds=later["steady_seconds"])
    first = cases.assign(run=0, seconds=cases["first_call_seconds"])
    names = [*keys, "run", "seconds"]
    return pd.concat([first, later], ignore_index=True).reindex(columns=names)


def _audited(path: Path) -> list[dict]:
    try:
        audit = Audit.from_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except (OSError, JaxmeterError) as error:
        raise ReportError(f"make_closure_report: cannot read {path}: {error}; remove it") from error
    return [
        {
            "path": array.path or "made while tracing",
            "shape": f"{array.dtype}{list(array.shape)}",
            "array_bytes": array.bytes,
            "verdict": array.verdict,
            "line": "; ".join(f"{_short(use.file)}:{use.line}" for use in array.uses),
            "code": "; ".join(use.text for use in array.uses),
        }
        for array in audit.arrays
        if array.bytes >= LEAST_AUDITED_BYTES
    ]


def _short(file: str) -> str:
    """A file as the page names it: nothing tells where the machine keeps it."""
    parts = Path(file).parts
    return "/".join(parts[parts.index("benchmarks") :]) if "benchmarks" in parts else parts[-1]


def _casing(store: str | Path) -> list[Section]:
    """The same for the virtual casing, at the commit and environment measured last."""
    try:
        read = read_store(store)
    except ReportError:
        return []
    measured = tables.measurements(read)
    measured = measured.loc[measured["suite"] == "casing_variants"]
    # A name as short as the others, for the labels of the bars.
    measured = measured.replace({"variant": {"static_callable": "static"}})
    if measured.empty:
        return []
    newest = measured.sort_values("started_utc", na_position="first").iloc[-1]
    place = (str(newest["commit"]), str(newest["environment_key"]))
    measured = report.at(measured, place)
    summary = closure_versus_argument(measured)
    if summary.empty:
        return []
    arrays = report.at(tables.captured_arrays(read), place)
    return [beyond.casing_section(closure_section(summary, measured, arrays), summary)]


def _chosen(
    measured: pd.DataFrame,
    environments: pd.DataFrame,
    commit: str | None,
    environment: str | None,
) -> tuple[str, str]:
    chosen = environments
    for name, start in (("commit", commit), ("environment_key", environment)):
        if start is not None:
            chosen = chosen.loc[chosen[name].str.startswith(start)]
    if chosen.empty:
        held = ", ".join(f"{r['commit']} in {r['environment_key']}" for r in rows(environments))
        raise ReportError(
            f"make_closure_report: nothing measured for commit {commit!r}, environment "
            f"{environment!r}; the store holds {held}"
        )
    newest = chosen.sort_values("last_started_utc", na_position="first").iloc[-1]["commit"]
    there = chosen.loc[chosen["commit"] == newest, "environment_key"]
    frames = measured.loc[(measured["commit"] == newest) & (measured["status"] == "ok")]
    most = frames.loc[frames["environment_key"].isin(there), "environment_key"].value_counts()
    return str(newest), str(most.index[0] if len(most) else there.iloc[0])


def _skipped(failures: pd.DataFrame) -> pd.DataFrame:
    return failures.loc[failures["status"] == "skipped"]


def _existing(path: str | Path | None) -> Path | None:
    return Path(path) if path is not None and Path(path).exists() else None
