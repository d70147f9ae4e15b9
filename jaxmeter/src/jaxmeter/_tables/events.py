"""Make the table of GPU kernels, which traces and nsys captures share."""

from __future__ import annotations

from typing import Any

import pandas as pd

from jaxmeter._tables.schemas import frame, most, schema

schema(
    "kernels",
    "Each row is a GPU kernel with one operation and one launch configuration. The kernel with the "
    "longest total time is first. The table is empty on CPUs.",
    kernel="name of the kernel",
    op="instruction of the optimised HLO; empty if it is not known",
    program="name of the program that contains the instruction",
    scope="named scopes of the instruction",
    device="plane of the trace, or number of the GPU in an nsys capture",
    launches_count="number of launches",
    total_seconds="duration of all launches, seconds",
    mean_seconds="mean duration of a launch, seconds",
    longest_seconds="duration of the longest launch, seconds",
    grid="number of blocks as x,y,z",
    block="number of threads in a block as x,y,z",
    registers_count="number of registers of a thread",
    shared_bytes="shared memory of a block, static and dynamic, bytes",
)


def kernel_table(launches: list[dict[str, Any]]) -> pd.DataFrame:
    """Return the table ``kernels``, with one row for all launches that differ only in duration.

    Each launch is a dictionary with the columns that describe the kernel, and the duration in
    ``seconds``.
    """
    if not launches:
        return frame("kernels", [])
    each = pd.DataFrame(launches)
    same = [column for column in each.columns if column != "seconds"]
    sums = each.groupby(same, dropna=False, sort=False)["seconds"].agg(
        launches_count="size", total_seconds="sum", mean_seconds="mean", longest_seconds="max"
    )
    return most(frame("kernels", sums.reset_index()), "total_seconds")
