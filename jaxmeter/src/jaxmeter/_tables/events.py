"""Make the table of GPU kernels, which traces and nsys captures share."""

from __future__ import annotations

from typing import Any

import pandas as pd

from jaxmeter._tables.schemas import frame, most


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
