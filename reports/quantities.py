"""Name the numbers of one process, and define how each number is compared.

There are three kinds of numbers. *Exact* numbers are normally the same in all processes of a
commit, so a difference between two commits is not noise. *Noisy* numbers (times, resident memory)
need several processes and statistics. *Errors* are differences between a computed answer and the
known answer. Rounding may change an error a little.
"""

import json
import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .store.load import StoredRecord

Row = dict[str, Any]

# Parameters that identify a kind of measurement. Other parameters become `parameter_<name>`.
CHUNKS = ("chunk_size", "target_chunk_size")
OF_PROBLEMS = ("workload", "half_period", "variant", "digits", "size", "operation", "array_bytes")
PARAMETERS = (*OF_PROBLEMS, *CHUNKS)
RUNS_COUNT = 20  # runs of a simple script that prints a standard deviation
FIELD_ERRORS = ("error_relative", "reference_error_relative")

# Fields of a record's environment, and the names of their columns.
ENVIRONMENT = {
    "machine": "machine",
    "platform": "platform",
    "cpu_model": "cpu_model",
    "cpus_available": "cpus_available_count",
    "ram_bytes": "ram_bytes",
    "python": "python_version",
    "jax": "jax_version",
    "jaxlib": "jaxlib_version",
    "numpy": "numpy_version",
    "jaxmeter": "jaxmeter_version",
    "backend": "backend",
    "device_kind": "device_kind",
    "device_count": "device_count",
    "xla_flags": "xla_flags",
    "jax_options": "jax_options",
}
PER_PROCESS_ENVIRONMENT = ("load_1min_before", "load_1min_after", "started_utc")
# Columns that no measured number may replace; the history adds the last two.
TAKEN = {*ENVIRONMENT.values(), *PER_PROCESS_ENVIRONMENT, "environment", "position"}
FAILURE = ("phase", "kind", "message", "traceback")
MOST_CHARACTERS = 240  # in the text of a failure
MEASURED = ("constants", "counts", "program", "memory", "checks", "extras")  # parts of a record

Kind = Literal["exact", "noisy", "error"]


@dataclass(frozen=True)
class Metric:
    """A quantity with a column in the table `measurements`; smaller values are always better."""

    name: str
    kind: Kind
    meaning: str = ""

    @property
    def unit(self) -> str:
        """The unit: "seconds", "bytes", "relative" or "count"."""
        ending = self.name.rsplit("_", 1)[-1]
        return ending if ending in ("seconds", "bytes", "relative") else "count"

    @property
    def title(self) -> str:
        """The name as words, without its unit."""
        stem = self.name.removesuffix(f"_{self.unit}").replace("trace_lower_", "trace + lower + ")
        words = stem.replace("_", " ").replace("steady", "steady-state")
        return words.replace("hlo", "HLO").replace("rss", "RSS")


COMPILED = "trace_lower_compile_seconds"
KNOWN = (
    Metric(COMPILED, "noisy", "trace, lower and compile"),
    Metric("steady_median_seconds", "noisy", "median of the steady-state calls of one process"),
    Metric("trace_seconds", "noisy"),
    Metric("lower_seconds", "noisy"),
    Metric("compile_seconds", "noisy", "compilation by XLA, without a cache"),
    Metric("first_call_seconds", "noisy"),
    Metric("steady_std_seconds", "noisy", "spread of the steady-state calls within one process"),
    Metric("compile_peak_rss_bytes", "noisy", "peak resident set, up to the end of compiling"),
    Metric("peak_rss_bytes", "noisy", "peak resident set, up to the last steady-state call"),
    Metric("captured_bytes", "exact", "arrays that the function closes over"),
    Metric("embedded_bytes", "exact", "constants in the program that the compiler receives"),
    Metric("hidden_argument_bytes", "exact", "captured arrays that JAX passes as arguments"),
    Metric("argument_bytes", "exact"),
    Metric("output_bytes", "exact"),
    Metric("temp_bytes", "exact", "temporary memory of the program"),
    Metric("traces_count", "exact", "traces of the function in one process"),
    Metric("compiles_count", "exact", "compiles of the function in one process"),
    Metric("jaxpr_equations_count", "exact"),
    Metric("hlo_instructions_count", "exact"),
    Metric("fusions_count", "exact"),
    Metric("low_precision_count", "exact", "equations in less than double precision"),
    Metric("flops", "exact", "floating-point operations, as estimated by the compiler"),
    Metric("accessed_bytes", "exact", "memory traffic, as estimated by the compiler"),
    Metric("error_relative", "error", "largest error against the known answer"),
    Metric("gradient_error_relative", "error", "largest error against the known gradient"),
)
COMPILE_PHASES = ("trace_seconds", "lower_seconds", "compile_seconds")
COMPILING = (COMPILED, *COMPILE_PHASES)
ERROR_FACTOR = 1.25  # a smaller ratio of two errors can be due to the order of summation
ROUNDING = 1e-13  # smaller errors are rounding only

# Names with these beginnings are not metrics: they are numbers of the C++ package, numbers of the
# process outside the measured function, parameters, or further summaries of samples.
NOT_OURS = ("reference_", "baseline_", "wall_", "factory_", "parameter_", "steady_m", "naive_")
# These names are not metrics either: they are numbers of the problem or the machine, sums of times,
# or bytes that depend on more than the program.
NOT_METRICS = ("array_bytes", "ready_seconds", "ram_bytes", "device_peak_bytes", "alias_bytes")


def metrics_of(names: Iterable[str]) -> tuple[Metric, ...]:
    """Return the metrics among `names`: first the known metrics, then other metrics.

    An unknown name is a metric if it ends in ``_seconds``, ``_bytes`` or ``_relative``. Exceptions
    are the names in `NOT_METRICS`, and names that begin with a word in `NOT_OURS`.
    """
    have = list(names)
    known = {metric.name: metric for metric in KNOWN}
    kinds: dict[str, Kind] = {"seconds": "noisy", "bytes": "exact", "relative": "error"}
    own = [
        Metric(name, kinds[ending], "added by the case")
        for name in have
        if (ending := name.rsplit("_", 1)[-1]) in kinds
        and not (name in known or name in NOT_METRICS or name.startswith(NOT_OURS))
    ]
    return (*(metric for name, metric in known.items() if name in have), *own)


def is_larger_error(error: float, other: float) -> bool:
    """Return whether `error` exceeds `other` by more than rounding and `ERROR_FACTOR`."""
    return error > ERROR_FACTOR * max(other, ROUNDING)


def measurement_row(stored: StoredRecord, compiles_count: int | None = 1) -> Row:
    """Return the row of a process: parameters, numbers, environment and the columns of `place_row`.

    A number that was not measured is None or has no column. The time of each compile phase is the
    minimum over the first `compiles_count` compiles, or over all compiles if `compiles_count` is
    None.
    """
    record = stored.record
    least = record.least_compile(compiles_count)
    phases = vars(record.phases) | {name: getattr(least, name) for name in COMPILE_PHASES}
    compiled = _sum(*(phases[name] for name in COMPILE_PHASES))
    checked = record.extras | record.checks
    row: Row = {
        **place_row(stored),
        "status": record.status,
        **{f"failure_{name}": getattr(record.failure, name, None) for name in FAILURE},
        **_parameters(record.params),
        "factory_seconds": record.setup_seconds,
        # This number distinguishes an error that is NaN from an error that was not checked.
        "checked_errors_count": sum(name in FIELD_ERRORS for name in record.checks),
        "not_a_number": ", ".join(sorted(name for name, x in checked.items() if x != x)) or None,
        "wall_seconds": record.wall_seconds,
        **_steady(record.samples_seconds),
        "naive_std_seconds": naive_std(record.phases.first_call_seconds, record.samples_seconds),
        **phases,
        "trace_lower_compile_seconds": compiled,
        "ready_seconds": _sum(compiled, record.phases.first_call_seconds),
    }
    for group in MEASURED:
        section = getattr(record, group)
        values = section if isinstance(section, dict) else vars(section)
        for name, value in values.items():
            if name != "arrays":
                # A name that is already in use gets a prefix, such as `extras_`, from its part of
                # the record.
                row[f"{group}_{name}" if name in row or name in TAKEN else name] = value
    environment = vars(record.environment) if record.environment else {}
    for name, column in ENVIRONMENT.items():
        value = environment.get(name)
        row[column] = json.dumps(value, sort_keys=True) if isinstance(value, dict) else value
    return row | {name: environment.get(name) for name in PER_PROCESS_ENVIRONMENT}


def place_row(stored: StoredRecord) -> Row:
    """Return the commit, environment, suite, case and round of a record as columns."""
    return {
        "commit": stored.commit,
        "environment_key": stored.environment_key,
        "suite": stored.case.split("/")[0],
        "case": stored.case,
        "round_index": stored.round_index,
    }


def failure_words(row: Row) -> str:
    """Return a failure in one line, such as `Timeout in compile: over 60 s`.

    Only the first line of the message is shown. For a process without a failure, return the status.
    """
    texts = (row[f"failure_{name}"] for name in ("phase", "kind", "message"))
    phase, kind, message = (text.strip() if isinstance(text, str) else "" for text in texts)
    name = f"{kind or row['status']}{f' in {phase}' if phase else ''}"
    text = " ".join(": ".join([name, *message.splitlines()[:1]]).split())
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"


def _parameters(params: dict[str, Any]) -> Row:
    """Return parameters as columns.

    Chunk sizes become strings, because "auto" is a chunk size. The chunk size None, which puts all
    points in one chunk, becomes "none".
    """
    row: Row = dict.fromkeys(PARAMETERS)
    for name, value in params.items():
        if name in CHUNKS:
            row[name] = "none" if value is None else str(value)
        elif name in PARAMETERS:
            row[name] = value
        else:
            row[f"parameter_{name}"] = None if value is None else str(value)
    return row


def _steady(seconds: Sequence[float]) -> dict[str, float | int | None]:
    """Return statistics of a process's steady-state runs.

    The standard deviation of a single run is None.
    """
    return {
        "steady_count": len(seconds),
        "steady_median_seconds": statistics.median(seconds) if seconds else None,
        "steady_std_seconds": _std(seconds) if len(seconds) > 1 else None,
        "steady_minimum_seconds": min(seconds, default=None),
        "steady_maximum_seconds": max(seconds, default=None),
    }


def naive_std(first_call: float | None, steady: Sequence[float]) -> float | None:
    """Return the standard deviation of 20 runs that include the first call.

    Simple timing scripts compute this number. Return None if the first call was not measured, or
    if `steady` has fewer than 19 runs.
    """
    if first_call is None or len(steady) < RUNS_COUNT - 1:
        return None
    return _std([first_call, *steady[: RUNS_COUNT - 1]])


def _std(values: Sequence[float]) -> float:
    """Return the standard deviation of a sample, much faster than `statistics.stdev`."""
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def _sum(*values: float | None) -> float | None:
    """Return the sum of the values, or None if a value is None."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
