"""What is followed over commits and reviewed: every measured quantity, and how it may be compared.

Three kinds. *Exact* numbers are the same in all processes of one commit, so any difference is one.
*Noisy* ones (times, resident memory) need several processes and statistics. *Errors* are the
answer's distance from the known one: not noise, yet free to move within rounding.
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
    """One quantity, a column of the measurements; smaller is better for all of them."""

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
        """The name without its unit, as words."""
        stem = self.name.removesuffix(f"_{self.unit}")
        words = stem.replace("_", " ").replace("steady", "steady-state")
        return words.replace("hlo", "HLO").replace("rss", "RSS")


KNOWN = (
    Metric("build_seconds", "noisy", "trace, lower and compile: from the call to the program"),
    Metric("steady_median_seconds", "noisy", "median of the steady-state calls of one process"),
    Metric("trace_seconds", "noisy"),
    Metric("lower_seconds", "noisy"),
    Metric("compile_seconds", "noisy", "XLA alone, cold"),
    Metric("first_call_seconds", "noisy"),
    Metric("steady_std_seconds", "noisy", "spread of the steady-state calls within one process"),
    Metric("compile_peak_rss_bytes", "noisy", "peak resident set up to the end of compiling"),
    Metric("peak_rss_bytes", "noisy", "peak resident set up to the last steady-state call"),
    Metric("captured_bytes", "exact", "arrays the function closes over"),
    Metric("embedded_bytes", "exact", "constants that the compiler was handed"),
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
BUILDING = ["trace_seconds", "lower_seconds", "compile_seconds"]

# Of the C++ package, of the machine, or summarised from samples that are followed already.
NOT_OURS = ("reference_", "baseline_", "wall_", "factory_", "steady_m", "failure_", "load_")


def with_build_seconds(measured: pd.DataFrame) -> pd.DataFrame:
    """The measurements with trace, lower and compile added up as `build_seconds`."""
    parts = measured.reindex(columns=BUILDING).apply(numeric)
    return measured.assign(build_seconds=parts.sum(axis=1, skipna=False))


def metrics_of(measured: pd.DataFrame) -> tuple[Metric, ...]:
    """The known metrics that `measured` has a value of, then what cases measured by themselves."""
    have = [name for name in measured.columns if any_of(measured[name].notna())]
    known = [metric for metric in KNOWN if metric.name in have]
    names = {metric.name for metric in KNOWN}
    own = [name for name in have if name not in names and not name.startswith(NOT_OURS)]
    return (*known, *_own(own))


def was_measured(table: pd.DataFrame, metric: Metric) -> np.ndarray:
    """Whether each process measured the metric.

    An error that is not a number was: that is a finding, and what was never measured is a gap.

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
            found.append(Metric(name, kind, "measured by the case itself"))
    return found
