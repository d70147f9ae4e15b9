"""What chunk_study.py found, as a page in Markdown."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from chunk_tables import environment
from jaxmeter import Environment

NAMES = {"B": "The field on the surface", "BOFF": "The field off it", "GRADB": "The gradient"}


def page(tables: Mapping[str, pd.DataFrame], where: Environment | None, case: str) -> str:
    """The recommendations, how far "auto" is from them, and a map of each operator.

    Parameters
    ----------
    tables : mapping
        From `chunk_tables.tables`.
    where : Environment, optional
        Of the processes that were measured.
    case : str
        What was computed.
    """
    machine = "" if where is None else f" on {where.cpus_available} cores of {where.cpu_model}"
    jax = "" if where is None else f", JAX {where.jax}"
    lines = [
        "# Tile sizes",
        "",
        f"`python profiling/chunk_study.py --case {case}`{machine}{jax}. Times are ratios within",
        "processes; [tables.md](tables.md) tells how (`chunk_study`, `chunk_recommendations`).",
        "",
        "| operator | sources, targets | time over the best | held out | auto over the best "
        "| temporaries | of auto |",
        "| --- | --: | --: | --: | --: | --: | --: |",
    ]
    for row in tables["chunk_recommendations"].to_dict("records"):
        sizes = f"{row['chunk_size']}, {row['target_chunk_size']}"
        ratios = ("ratio_to_best", "held_out_ratio_to_best", "auto_ratio_to_best")
        cells = [row["operator"], sizes, *(_ratio(row[name]) for name in ratios)]
        cells += [_megabytes(row[name]) for name in ("temp_bytes", "auto_temp_bytes")]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "```", *environment(tables).splitlines(), "```"]
    for operator, rows in tables["chunk_study"].groupby("operator", sort=False):
        lines += ["", *_map(str(operator), rows)]
    return "\n".join(lines) + "\n"


def _map(operator: str, rows: pd.DataFrame) -> list[str]:
    """Time over that of the fastest, by sources and targets."""
    every = rows.to_dict("records")
    across = sorted({row["target_chunk_size"] for row in every})
    cells = {(row["chunk_size"], row["target_chunk_size"]): row for row in every}
    lines = [
        f"## {NAMES[operator]}",
        "",
        f"`{operator}`: time over that of the fastest, sources down, targets across; in bold what",
        'is recommended, in italics what "auto" is.',
        "",
        f"| | {' | '.join(map(str, across))} |",
        f"| --: |{' --: |' * len(across)}",
    ]
    for sources in sorted({row["chunk_size"] for row in every}):
        marked = [_marked(cells.get((sources, targets))) for targets in across]
        lines.append(f"| {sources} | {' | '.join(marked)} |")
    return lines


def _marked(row: dict | None) -> str:
    if row is None:
        return ""
    sign = "**" * bool(row["is_recommended"]) + "*" * bool(row["is_auto"])
    return f"{sign}{_ratio(row['ratio_to_best'])}{sign}"


def _ratio(value: float) -> str:
    return "" if pd.isna(value) else f"{value:.3f}"


def _megabytes(value: float) -> str:
    return "" if pd.isna(value) else f"{value / 1e6:.1f} MB"
