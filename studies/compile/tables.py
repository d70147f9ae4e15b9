"""Make the tables of docs/compile.md."""

from __future__ import annotations

from collections.abc import Callable

from studies.compile.study import STAGES
from studies.harness import Row, measured, read_rows, table

VERSIONS = ("0.7.2", "0.10.2", "0.12.0")


def slow_lines() -> str:
    """Return a table of the rank and share of each slow line, by version of JAX."""
    found = {
        version: {row["slow_line"]: row for row in _rows(f"slow_lines_jax_{version}.csv")}
        for version in VERSIONS
    }
    names = found[VERSIONS[1]]
    return table(
        ["slow line", *(f"JAX {version}" for version in VERSIONS)],
        [[name, *(_found(rows[name]) for rows in found.values())] for name in names],
    )


def _found(row: Row) -> str:
    share, attributed = (100 * float(row[name]) for name in ("share", "attributed_share"))
    return f"{row['rank']}: {share:.0f} of {attributed:.0f} %"


def costs() -> str:
    """Return a table of checks and costs of the profiles, by version of JAX."""
    lines = []
    for version in VERSIONS:
        rows = _rows(f"slow_lines_jax_{version}.csv")
        plain, profile = (
            sum(float(row[name]) for row in rows)
            for name in ("plain_compile_cpu_seconds", "profile_cpu_seconds")
        )
        ratios = [float(row["rows_over_clock"]) for row in rows]
        lines.append(
            [
                version,
                f"{min(ratios):.3f} to {max(ratios):.3f}",
                sum(int(row["kernels_count"]) for row in rows),
                sum(int(row["unpaired_count"]) for row in rows),
                f"{plain:.1f} s",
                f"{profile:.1f} s",
            ]
        )
    header = ["JAX", "rows / clock", "kernels", "not found", "compile alone", "profile"]
    return table(header, lines)


def programs() -> str:
    """Return a table of the stages of each program of vcjax."""
    whole = [row for row in _rows("programs.csv") if not row["line"]]
    header = ["program", "seconds", "equations", "kernels", "attributed", *STAGES]
    return table(
        header,
        [
            [
                row["program"],
                f"{float(row['seconds']):.1f}",
                row["equations_count"],
                row["kernels_count"],
                _percent(row["share"]),
                *(_percent(row[stage]) for stage in STAGES),
            ]
            for row in whole
        ],
    )


def lines() -> str:
    """Return a table of the slowest lines of each program of vcjax."""
    found = [row for row in _rows("programs.csv") if row["line"]]
    return table(
        ["program", "line", "share", "equations", "kernels", "instructions"],
        [
            [
                row["program"],
                f"`{row['line']}`",
                _percent(row["share"]),
                row["equations_count"],
                row["kernels_count"],
                row["instructions_count"],
            ]
            for row in found
        ],
        left=2,
    )


def _percent(share: str) -> str:
    return f"{100 * float(share):.0f} %"


def _rows(name: str) -> list[Row]:
    return read_rows(measured("compile", name))


TABLES: dict[str, Callable[[], str]] = {
    "compile slow lines": slow_lines,
    "compile costs": costs,
    "compile programs": programs,
    "compile lines": lines,
}
