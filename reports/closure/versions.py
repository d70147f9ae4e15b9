"""Compare captured arrays with arrays passed as an argument, for each version of JAX.

The rows come from the records of the reported commit. For an environment without such records, the
rows come from the file ``studies/closure/measured/<environment-key>.csv``, if this file exists. The
files are kept in the repository because few machines have a Python interpreter for every version of
JAX. A file contains the rows of some variants, with the machine, date and versions of their
measurement.
"""

from pathlib import Path

import pandas as pd

from ..document.section import Section
from ..document.table import PHASES, count, problem_name, ratio, row_head, size, table, text, time
from ..errors import ReportError
from ..tables import PLACE, rows

KEPT = Path(__file__).resolve().parents[2] / "studies" / "closure" / "measured"
VARIANTS = ("closure", "argument", "simplified")
STEMS = ("trace", "lower", "compile", "trace_lower_compile", "steady")
RATIOS = ("trace_lower_compile_to_argument", "steady_to_argument")
ENVIRONMENT = (
    "jax_version",
    "jaxlib_version",
    "python_version",
    "numpy_version",
    "backend",
    "cpu_model",
    "cpus_available_count",
    "ram_bytes",
    "load_1min_before_highest",
    "last_started_utc",
)
COLUMNS = (
    *PLACE,
    "size",
    "variant",
    "processes_count",
    *(f"{stem}_{end}_seconds" for stem in STEMS for end in ("median", "low", "high")),
    *(f"{stem}_{end}" for stem in RATIOS for end in ("ratio", "low_ratio", "high_ratio")),
    "captured_bytes",
    "embedded_bytes",
    "hidden_argument_bytes",
    *ENVIRONMENT,
)


def rows_by_version(cases: pd.DataFrame, environments: pd.DataFrame) -> pd.DataFrame:
    """Return the rows for the table of versions, joined from `cases` and `environments`.

    `cases` is from `summaries.variants`, and `environments` is from `tables.environments`.
    """
    if cases.empty:
        return pd.DataFrame(columns=pd.Index(COLUMNS))
    shown = cases.loc[cases["variant"].isin(VARIANTS)]
    return shown.merge(environments[[*PLACE, *ENVIRONMENT]], on=list(PLACE))[list(COLUMNS)]


def keep(found: pd.DataFrame, environment: str, folder: Path = KEPT) -> Path:
    """Write the rows of one commit and environment to a file, and return the file's path.

    `found` is from `rows_by_version`. `environment` is the beginning of an environment key.
    """
    keys = sorted(set(found["environment_key"]))
    fitting = [key for key in keys if key.startswith(environment)]
    if len(fitting) != 1:
        raise ReportError(
            f"keep: {len(fitting)} environment keys begin with {environment!r}; give the beginning "
            f"of exactly one of these keys: {', '.join(keys) or '(none: run make closure first)'}"
        )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{fitting[0]}.csv"
    chosen = found.loc[found["environment_key"] == fitting[0]]
    chosen.to_csv(path, index=False, float_format="%.6g")
    return path


def kept(folder: Path = KEPT) -> pd.DataFrame:
    """Return the rows that are kept in `folder`."""
    found = []
    for path in sorted(folder.glob("*.csv")):
        try:
            found.append(pd.read_csv(path)[list(COLUMNS)])
        except (ValueError, KeyError) as error:
            raise ReportError(
                f"kept: cannot read {path}: {error}; restore the file from git, or delete it and "
                "run python -m reports closure --keep ENVIRONMENT"
            ) from error
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=pd.Index(COLUMNS))


def with_kept(found: pd.DataFrame, others: pd.DataFrame) -> pd.DataFrame:
    """Return the measured rows, and the kept rows of environments that were not measured."""
    more = others.loc[~others["environment_key"].isin(found["environment_key"])]
    parts = [found.assign(is_kept=False), more.assign(is_kept=True)]
    shown = [part for part in parts if len(part)]
    return pd.concat(shown, ignore_index=True) if shown else parts[0]


def section(cases: pd.DataFrame) -> Section:
    """Return the section on versions of JAX; `cases` is the result of `with_kept`."""
    joined = cases.assign(
        measured=[_when(row) for row in rows(cases)], order=cases["jax_version"].map(_numbers)
    )
    joined = joined.sort_values(["size", "order"], kind="stable")
    known = sorted(set(joined["jax_version"]), key=_numbers)
    columns = (
        row_head(
            "JAX",
            lambda row: str(row["jax_version"]),
            lambda row: f"{problem_name(row)}, {row['variant']}",
        ),
        text("Python", "python_version"),
        count("Processes", "processes_count"),
        *PHASES,
        ratio(
            "All three / argument", "trace_lower_compile_to_argument", "Ratio within this version"
        ),
        time("Steady-state run", "steady"),
        ratio("Steady / argument", "steady_to_argument", "Ratio within this version"),
        size("Captured", "captured_bytes"),
        size("Embedded", "embedded_bytes"),
        text(
            "Measured",
            "measured",
            "In this study (here), or the date and machine of an earlier study",
        ),
    )
    made = table(
        joined,
        columns,
        "closure_versions",
        "Closure and argument by version",
        group_by=("jax_version", "size"),
    )
    more = " docs/closure.md describes how to add other versions." if len(known) < 2 else ""
    return Section(
        "versions",
        "Versions of JAX",
        f"Measured with JAX {', '.join(known)}.{more}",
        paragraphs=(
            "Each ratio compares processes of one version. Times of different versions are shown "
            "next to each other but not compared, because the compilers differ. A variant is "
            "missing if it failed or was not measured. JAX 0.7.2 fails with simplified constants.",
        ),
        tables=(made,),
    )


def _when(row: dict) -> str:
    if not row["is_kept"]:
        return "here"
    day = str(row["last_started_utc"])[:10]
    return f"{day}, {row['cpu_model']}, {int(row['cpus_available_count'])} cores"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(n) for n in str(version).split(".") if n.isdecimal())
