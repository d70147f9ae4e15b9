"""Make the tables of docs/compile.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from studies.compile.study import STAGES
from studies.harness import measured, table

VERSIONS = ("0.7.2", "0.10.2", "0.12.0")


def slow_lines() -> str:
    """Return a table of each slow line's rank and share of the time, by version of JAX."""
    shown = {}
    for version in VERSIONS:
        rows = _slow_lines(version)
        shares = (100 * rows["share"]).map("{:.0f}".format)
        attributed = rows["attributed_share"].map(_percent)
        shown[f"JAX {version}"] = rows["rank"].astype(str) + ": " + shares + " of " + attributed
    return table(("slow line", *shown), pd.DataFrame(shown).itertuples())


def costs() -> str:
    """Return a table that checks the profiles and shows their CPU time, by version of JAX."""
    lines = []
    for version in VERSIONS:
        rows = _slow_lines(version)
        ratios, sums = rows["rows_over_clock"], rows.sum(numeric_only=True)
        lines.append(
            (
                version,
                f"{ratios.min():.3f} to {ratios.max():.3f}",
                *(int(sums[name]) for name in ("kernels_count", "unpaired_count")),
                *(f"{sums[f'{of}_cpu_seconds']:.1f} s" for of in ("plain_compile", "profile")),
            )
        )
    header = ["JAX", "rows / clock", "kernels", "not found", "compile alone", "profile"]
    return table(header, lines)


def programs() -> str:
    """Return a table of the compile time of each program of vcjax, divided into stages."""
    rows = _rows("programs.csv")
    rows[["share", *STAGES]] = rows[["share", *STAGES]].map(_percent)
    rows["seconds"] = rows["seconds"].map("{:.1f}".format)
    columns = ["program", "seconds", "equations_count", "kernels_count", "share", *STAGES]
    header = ["program", "seconds", "equations", "kernels", "attributed", *STAGES]
    return table(header, rows.loc[rows["line"].isna(), columns].itertuples(index=False))


def lines() -> str:
    """Return a table of the source lines that take longest to compile, by program of vcjax."""
    rows = _rows("programs.csv").dropna(subset="line")
    rows["line"] = "`" + rows["line"] + "`"
    rows["share"] = rows["share"].map(_percent)
    header = ["program", "line", "share", "equations", "kernels", "instructions"]
    columns = [*header[:3], *(f"{name}_count" for name in header[3:])]
    return table(header, rows[columns].itertuples(index=False), left=2)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _rows(name: str) -> Any:
    return pd.read_csv(measured("compile", name))


def _slow_lines(version: str) -> Any:
    return _rows(f"slow_lines_jax_{version}.csv").set_index("slow_line")


TABLES: dict[str, Callable[[], str]] = {
    "compile slow lines": slow_lines,
    "compile costs": costs,
    "compile programs": programs,
    "compile lines": lines,
}
