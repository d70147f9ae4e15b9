"""Every measured quantity that the history and the review show, and how it is compared.

There are three kinds. *Exact* numbers are the same in all processes of a commit, so that any
difference counts. *Noisy* ones (times, resident memory) need several processes and statistics.
*Errors* are the distance of the answer from the known one; they may move within rounding.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from .frames import any_of, numeric

Kind = Literal["exact", "noisy", "error"]
KINDS: tuple[Kind, ...] = ("exact", "noisy", "error")


@dataclass(frozen=True)
class Metric:
    """A quantity, a column of the measurements; smaller is always better."""

    name: str
    kind: Kind
    meaning: str = ""

    @property
    def unit(self) -> str:
        """ "seconds", "bytes", "relative" or "count"."""
        ending = self.name.rsplit("_", 1)[-1]
        return ending if ending in ("seconds", "bytes", "relative") else "count"

    @property
    def title(self) -> str:
        """Return the name as words, without its unit."""
        stem = self.name.removesuffix(f"_{self.unit}").replace("trace_lower_", "trace + lower + ")
        words = stem.replace("_", " ").replace("steady", "steady-state")
        return words.replace("hlo", "HLO").replace("rss", "RSS")


KNOWN = (
    Metric("trace_lower_compile_seconds", "noisy", "trace, lower and compile"),
    Metric("steady_median_seconds", "noisy", "median of the steady-state calls of one process"),
    Metric("trace_seconds", "noisy"),
    Metric("lower_seconds", "noisy"),
    Metric("compile_seconds", "noisy", "XLA alone, cold"),
    Metric("first_call_seconds", "noisy"),
    Metric("steady_std_seconds", "noisy", "spread of the steady-state calls within one process"),
    Metric("compile_peak_rss_bytes", "noisy", "peak resident set up to the end of compiling"),
    Metric("peak_rss_bytes", "noisy", "peak resident set up to the last steady-state call"),
    Metric("captured_bytes", "exact", "arrays that the function closes over"),
    Metric("embedded_bytes", "exact", "constants in the compiled program"),
    Metric("hidden_argument_bytes", "exact", "captured arrays that JAX passes as arguments"),
    Metric("argument_bytes", "exact"),
    Metric("output_bytes", "exact"),
    Metric("temp_bytes", "exact", "temporary memory of the program"),
    Metric("traces_count", "exact", "traces of the function in one process"),
    Metric("compiles_count", "exact", "compiles of the function in one process"),
    Metric("jaxpr_equations_count", "exact"),
    Metric("hlo_instructions_count", "exact"),
    Metric("fusions_count", "exact"),
    Metric("flops", "exact", "floating-point operations, by the compiler's estimate"),
    Metric("accessed_bytes", "exact", "memory traffic, by the compiler's estimate"),
    Metric("error_relative", "error", "largest error against the known answer"),
    Metric("gradient_error_relative", "error", "largest error against the known gradient"),
)
COMPILE_PHASES = ["trace_seconds", "lower_seconds", "compile_seconds"]

# Of the C++ package, of the machine, or summarised from samples that have metrics already.
NOT_OURS = (
    *("reference_", "baseline_", "wall_", "factory_", "steady_m", "naive_", "failure_", "load_"),
)


def with_compile_sum(measured: pd.DataFrame) -> pd.DataFrame:
    """Return the measurements with a column `trace_lower_compile_seconds`."""
    total = measured[COMPILE_PHASES].sum(axis=1, skipna=False)
    return measured.assign(trace_lower_compile_seconds=total)


def metrics_of(measured: pd.DataFrame) -> tuple[Metric, ...]:
    """Return the known metrics that `measured` has values of, then those that cases added."""
    have = [name for name in measured.columns if any_of(measured[name].notna())]
    known = [metric for metric in KNOWN if metric.name in have]
    names = {metric.name for metric in KNOWN}
    own = [name for name in have if name not in names and not name.startswith(NOT_OURS)]
    return (*known, *_own(own))


def was_measured(table: pd.DataFrame, metric: Metric) -> np.ndarray:
    """Return whether each process measured the metric.

    An error that is NaN was measured: that is a finding, and only a missing error is a gap.

    Returns
    -------
    was : array of bool, shape (processes,)
    """
    present = numeric(table[metric.name]).notna().to_numpy(dtype=bool)
    if metric.kind != "error":
        return present
    listed = table["not_a_number"].fillna("").to_list()
    return present | np.array([metric.name in str(names).split(", ") for names in listed], bool)


def _own(names: Sequence[str]) -> list[Metric]:
    kinds: dict[str, Kind] = {"seconds": "noisy", "bytes": "exact", "relative": "error"}
    # Bytes of other kinds (device peaks, the machine's memory) depend on more than the program.
    found = []
    for name in names:
        kind = kinds.get(name.rsplit("_", 1)[-1])
        if kind is not None and name not in ("ram_bytes", "device_peak_bytes", "alias_bytes"):
            found.append(Metric(name, kind, "added by the case"))
    return found
