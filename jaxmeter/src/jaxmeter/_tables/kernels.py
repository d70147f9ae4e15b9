"""Kernels of a GPU, from a trace of JAX or a capture of nsys."""

from __future__ import annotations

from typing import Any

import pandas as pd

from jaxmeter._tables.schemas import REAL, TEXT, WHOLE, frame, most, schema

schema(
    "kernels",
    "A kernel of a GPU in one shape of launch, the one with most time first; empty on CPUs.",
    {
        "kernel": (TEXT, "its name"),
        "op": (TEXT, "instruction of the optimised HLO, where it is known"),
        "program": (TEXT, "its program"),
        "scope": (TEXT, "its named scopes"),
        "device": (TEXT, "of the GPU: plane of the trace, or its number"),
        "launches_count": (WHOLE, "launches"),
        "total_seconds": (REAL, "their durations, seconds"),
        "mean_seconds": (REAL, "of one, seconds"),
        "longest_seconds": (REAL, "of one, seconds"),
        "grid": (TEXT, "blocks, x,y,z"),
        "block": (TEXT, "threads of a block, x,y,z"),
        "registers_count": (WHOLE, "registers of a thread"),
        "shared_bytes": (WHOLE, "shared memory of a block, static and dynamic, bytes"),
    },
)


def kernel_table(launches: list[dict[str, Any]]) -> pd.DataFrame:
    """Launches, each with its ``seconds``, by kernel and shape of launch."""
    if not launches:
        return frame("kernels", [])
    each = pd.DataFrame(launches)
    same = [column for column in each.columns if column != "seconds"]
    sums = each.groupby(same, dropna=False, sort=False)["seconds"].agg(
        launches_count="size", total_seconds="sum", mean_seconds="mean", longest_seconds="max"
    )
    return most(frame("kernels", sums.reset_index()), "total_seconds")
