"""Rows of other versions of JAX, kept in the repository: few machines have every interpreter.

A file for each environment, ``measured/<environment-key>.csv``: the study's rows of the variants
that versions are shown by, and where, when and with what they were measured.
"""

from pathlib import Path

import pandas as pd

from ..errors import ReportError
from ..tables import PLACE

KEPT = Path(__file__).resolve().parent / "measured"
VARIANTS = ("closure", "argument", "simplified")
STEMS = ("trace", "lower", "compile", "built", "steady")
RATIOS = ("built_to_argument", "steady_to_argument")
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


def rows_by_version(frames: pd.DataFrame, environments: pd.DataFrame) -> pd.DataFrame:
    """The rows that versions are shown by, with their environments beside them.

    Parameters
    ----------
    frames, environments : DataFrame
        `summaries.frames` and `tables.environments`.
    """
    if frames.empty:
        return pd.DataFrame(columns=pd.Index(COLUMNS))
    joined = frames.loc[frames["variant"].isin(VARIANTS)].merge(
        environments[[*PLACE, *ENVIRONMENT]], on=list(PLACE)
    )
    return joined.reindex(columns=list(COLUMNS))


def keep(rows: pd.DataFrame, environment: str, folder: Path = KEPT) -> Path:
    """Write the rows of one environment, in place of those that were kept of it before.

    Parameters
    ----------
    rows : DataFrame
        `rows_by_version` of one commit.
    environment : str
        Beginning of an environment key that fits no other.
    folder : Path

    Raises
    ------
    ReportError
        Where the beginning fits no environment, or several.
    """
    fitting = sorted(key for key in set(rows["environment_key"]) if key.startswith(environment))
    if len(fitting) != 1:
        held = ", ".join(sorted(set(rows["environment_key"]))) or "none"
        raise ReportError(
            f"keep: {environment!r} begins {len(fitting)} environments with measured frames, "
            f"which are {held}; give the beginning of one"
        )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{fitting[0]}.csv"
    chosen = rows.loc[rows["environment_key"] == fitting[0]]
    chosen.to_csv(path, index=False, float_format="%.6g")
    return path


def kept(folder: Path = KEPT) -> pd.DataFrame:
    """All rows that are kept.

    Raises
    ------
    ReportError
        For a file that cannot be read or lacks a column.
    """
    found = []
    for path in sorted(folder.glob("*.csv")):
        try:
            rows = pd.read_csv(path)
        except (OSError, ValueError) as error:
            raise ReportError(f"kept: cannot read {path}: {error}; keep it again") from error
        missing = [name for name in COLUMNS if name not in rows]
        if missing:
            raise ReportError(f"kept: {path} lacks {', '.join(missing)}; keep it again")
        found.append(rows[list(COLUMNS)])
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=pd.Index(COLUMNS))


def with_kept(rows: pd.DataFrame, others: pd.DataFrame) -> pd.DataFrame:
    """The measured rows and, of environments that were not measured, those that are kept."""
    here = list(rows["environment_key"])
    more = others.loc[~others["environment_key"].isin(here)]
    if more.empty:
        return rows.assign(is_kept=False)
    if rows.empty:
        return more.assign(is_kept=True)
    return pd.concat([rows.assign(is_kept=False), more.assign(is_kept=True)], ignore_index=True)
