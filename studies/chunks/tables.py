"""Make the tables and the page of the tile-size study, and the tables of docs/chunks.md."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from functools import partial
from typing import Any

import pandas as pd

from jaxmeter import Environment
from studies.harness import Row, measured, table

WITHIN = 0.03
"""A size is a candidate if it is at most this share slower than the fastest size.

The candidate with the fewest bytes of temporaries is recommended.
"""
SIZE = ["chunk_size", "target_chunk_size"]
NAMES = {
    "B": "The field on the surface",
    "BOFF": "The field off the surface",
    "GRADB": "The gradient",
}

COLUMNS = (
    *("operator", *SIZE, "is_auto", "processes_count"),
    *("seconds", "ratio_to_auto", "ratio_to_best", "least_ratio", "largest_ratio"),
    *("flops_per_byte", "is_recommended", "temp_bytes", "largest_temp_bytes", "run_peak_bytes"),
    *("flops", "accessed_bytes", "instructions_count", "fusions_count"),
    *("far_fraction", "kernels_count", "error_relative"),
)
ADVICE_COLUMNS = (
    *("operator", *SIZE, "ratio_to_best", "held_out_ratio_to_best", "auto_ratio_to_best"),
    *("temp_bytes", "auto_temp_bytes"),
)
"""Columns of the two tables, described in docs/chunks.md."""


def study_tables(processes: Sequence[Row]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a table of all operators and tile sizes, and a table of recommended sizes.

    `processes` are the rows of `studies.chunks.cases.process_rows`.
    """
    found: Any = pd.DataFrame(
        {
            **size,
            "operator": process["operator"],
            "process": number,
            "is_auto": [size[name] for name in SIZE] == process["auto"],
            "seconds": statistics.median(size["seconds"]),
        }
        for number, process in enumerate(processes)
        for size in process["found"]
    )
    auto = found[found["is_auto"]].set_index("process")["seconds"]
    found["ratio_to_auto"] = found["seconds"] / found["process"].map(auto)
    sizes, advice = [], []
    for _, some in found.groupby("operator", sort=False):
        sizes.append(_sizes(some))
        advice.append(_advice(sizes[-1], some))
    every = pd.concat(sizes, ignore_index=True).reindex(columns=list(COLUMNS))
    return every, pd.DataFrame(advice, columns=list(ADVICE_COLUMNS))


def _sizes(found: Any) -> Any:
    groups = found.groupby(SIZE, sort=False)
    ratios = groups["ratio_to_auto"]
    sizes = groups.first()
    sizes["processes_count"] = groups["process"].nunique()
    sizes["seconds"] = groups["seconds"].median()
    sizes["ratio_to_auto"] = ratios.median()
    sizes["ratio_to_best"] = sizes["ratio_to_auto"] / sizes["ratio_to_auto"].min()
    sizes["least_ratio"], sizes["largest_ratio"] = ratios.min(), ratios.max()
    sizes["flops_per_byte"] = sizes["flops"] / sizes["accessed_bytes"]
    sizes["is_recommended"] = sizes.index == _chosen(sizes["ratio_to_auto"], sizes["temp_bytes"])
    return sizes.sort_values("ratio_to_auto", kind="stable").reset_index()


def _chosen(ratios: Any, temp_bytes: Any) -> tuple[int, int]:
    """Return the size with the fewest temp bytes, among the sizes that are nearly the fastest.

    Nearly the fastest means at most `WITHIN` slower. `ratios` has the time of each size, divided by
    the time of "auto". Unknown temp bytes count as the fewest.
    """
    sizes: Any = pd.DataFrame({"temp_bytes": temp_bytes, "ratio": ratios})
    good = sizes[ratios <= ratios.min() * (1 + WITHIN)]
    return good.sort_values(["temp_bytes", "ratio"], na_position="first").index[0]


def _advice(sizes: Any, found: Any) -> Row:
    best, auto = (sizes[sizes[name]].iloc[0] for name in ("is_recommended", "is_auto"))
    others = {f"auto_{name}": auto[name] for name in ("ratio_to_best", "temp_bytes")}
    held_out = _held_out(found, sizes.set_index(SIZE)["temp_bytes"])
    return {**best, **others, "held_out_ratio_to_best": held_out}


def _held_out(found: Any, temp_bytes: Any) -> float | None:
    """Return the time of the chosen size, divided by the time of the fastest size.

    Half of the processes are used to choose the size, and the other half to measure the ratio.
    Return None if there is a single process.
    """
    chooses = found["process"].isin(found["process"].unique()[::2])
    if chooses.all():
        return None
    chosen, judged = (
        found[some].groupby(SIZE)["ratio_to_auto"].median() for some in (chooses, ~chooses)
    )
    return judged[_chosen(chosen, temp_bytes)] / judged.min()


def page(sizes: pd.DataFrame, advice: pd.DataFrame, where: Environment, case: str) -> str:
    """Return a Markdown page that compares "auto" with the recommended sizes, and shows all times.

    `where` is the environment of the measurement.
    """
    parts = [
        "# Tile sizes\n",
        f"`python -m studies chunks --case {case}` on {where.cpus_available} cores of "
        f"{where.cpu_model}, JAX {where.jax}. Times are ratios within processes; docs/chunks.md "
        "describes the columns of the tables.\n",
        advice_table(advice),
        f"```\n{variables(advice)}```\n",
    ]
    for operator in sizes["operator"].unique():
        parts += [
            f"## {NAMES[operator]}\n",
            f"`{operator}`: time over the time of the fastest size. Each row is a number of "
            "sources, and each column a number of targets. The recommended size is bold, and "
            '"auto" is in italics.\n',
            map_table(sizes, operator),
        ]
    return "\n".join(parts)


def variables(advice: pd.DataFrame) -> str:
    """Return shell commands that export the recommended sizes as environment variables."""
    lines = ["# Tile sizes of vcjax that `python -m studies chunks` recommends on this machine."]
    for operator, *sizes in advice[["operator", *SIZE]].itertuples(index=False):
        for side, size in zip(("SRC", "TRG"), sizes, strict=True):
            lines.append(f"export VCJAX_CHUNK_{operator}_{side}={size}")
    return "\n".join(lines) + "\n"


_ADVICE_SHOWN = {
    "ratio_to_best": ("time over the best time", 1.0, "{:.3f}"),
    "held_out_ratio_to_best": ("held out", 1.0, "{:.3f}"),
    "auto_ratio_to_best": ("time of auto over the best time", 1.0, "{:.3f}"),
    "temp_bytes": ("temporaries", 1e-6, "{:.1f} MB"),
    "auto_temp_bytes": ("temporaries of auto", 1e-6, "{:.1f} MB"),
}


def advice_table(advice: pd.DataFrame) -> str:
    """Return a Markdown table that compares the recommended size of each operator with "auto"."""
    lines = []
    for row in advice.to_dict("records"):
        shown = [
            "" if pd.isna(row[name]) else template.format(factor * row[name])
            for name, (_, factor, template) in _ADVICE_SHOWN.items()
        ]
        lines.append((row["operator"], ", ".join(str(row[name]) for name in SIZE), *shown))
    headings = [heading for heading, *_ in _ADVICE_SHOWN.values()]
    return table(("operator", "sources, targets", *headings), lines)


def map_table(sizes: pd.DataFrame, operator: str) -> str:
    """Return a Markdown table of times relative to the fastest size, by sources and targets."""
    sizes = sizes.loc[sizes["operator"] == operator]
    shown = sizes["ratio_to_best"].map("{:.3f}".format)
    for column, sign in (("is_auto", "*"), ("is_recommended", "**")):
        shown = shown.mask(sizes[column], sign + shown + sign)
    grid = sizes.assign(shown=shown).pivot(index=SIZE[0], columns=SIZE[1], values="shown")
    return table(("", *grid), grid.fillna("").itertuples())


def _committed_map(operator: str) -> str:
    return map_table(pd.read_csv(measured("chunks", "sizes.csv")), operator)


TABLES = {
    "chunks advice": lambda: advice_table(pd.read_csv(measured("chunks", "advice.csv"))),
    **{f"chunks map {operator}": partial(_committed_map, operator) for operator in NAMES},
}
