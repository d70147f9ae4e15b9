"""Make the closure report's sections on spread, changed arrays, array sizes and the audit."""

import math
import statistics
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from jaxmeter import Audit, JaxmeterError, read_file

from ..document.section import Section
from ..document.table import count, ratio, row_head, size, table, text, time
from ..document.words import too_few
from ..store.load import LONGEST_REASON
from ..tables import groups, rows
from ..units import bytes_, counted, seconds, significant
from ..units import ratio as ratio_text
from . import figures
from .summaries import ARGUMENT, LARGE_BYTES, OPERATIONS, row_of, slope
from .variants import HEAD

NOTHING = "This was not measured."
TIMED = ("closure", ARGUMENT)
NOTICED = 0.1  # extra time that a user notices, as a share of the compile time
LEAST_AUDITED_BYTES = 1000


def spread(cases: pd.DataFrame, runs: pd.DataFrame, script: pd.DataFrame) -> Section:
    """Return the section on the reasons why standard deviations differ.

    `cases` is from `summaries.variants`, `runs` from `page._runs`, and `script` from
    `summaries.script_calls`.
    """
    runs, script = (_at_largest_size(found) for found in (runs, script))
    drawn = () if runs.empty else (figures.runs_in_order(runs),)
    if len(script):
        drawn += (figures.script_calls(script.loc[script["run"] > 0]),)
    return Section(
        "spread",
        "Why the standard deviations differ",
        _spread_lead(cases),
        tuple(_script_sentences(script)),
        (
            "If one of n runs takes d longer than the other, equal runs, the standard deviation is "
            "about d / √n. For n = 20 and d = 28 ms this is about 6.3 ms, and the median is "
            "unchanged. The value published for the closure is 6.2 ms. The first call after "
            "compiling can be such a slow run, because JAX sets up its fast path and uses the "
            "memory of the results for the first time. The standard deviation of the steady state "
            "excludes this call.",
        ),
        drawn,
    )


def _at_largest_size(runs: pd.DataFrame) -> pd.DataFrame:
    timed = runs.loc[runs["variant"].isin(TIMED)]
    return timed.loc[timed["size"] == timed["size"].max()]


def _spread_lead(cases: pd.DataFrame) -> str:
    largest = max(cases["size"], default=math.nan)
    parts = []
    for variant in TIMED:
        row = row_of(cases, variant, size=largest)
        if row is not None and not math.isnan(row["naive_std_median_seconds"]):
            first = row["first_call_median_seconds"] / row["steady_median_seconds"]
            parts.append(
                f"{variant} {seconds(row['naive_std_median_seconds'])} with the first call "
                f"(which takes {ratio_text(first)} the time of a steady-state run), and "
                f"{seconds(row['steady_std_median_seconds'])} in the steady state"
            )
    if not parts:
        return NOTHING
    return f"At N = {int(largest)}, the standard deviation of 20 runs is: {'; '.join(parts)}."


def _script_sentences(script: pd.DataFrame) -> Iterator[str]:
    """Yield a sentence for each variant: the spread of its times in a simple timing script."""
    for variant in TIMED:
        ordered = script.loc[(script["variant"] == variant) & (script["run"] > 0)]
        runs = [list(g.sort_values("run")["seconds"]) for _, g in groups(ordered, ["round_index"])]
        runs = [taken for taken in runs if len(taken) > 4]
        if runs:
            stds = statistics.median(statistics.stdev(taken) for taken in runs)
            steady = statistics.median(statistics.stdev(taken[2:]) for taken in runs)
            first = statistics.median(taken[0] / statistics.median(taken) for taken in runs)
            yield (
                f"{variant.capitalize()}, timed as in a script (N = {script['size'].max():.0f}, "
                f"{counted(len(runs), 'process')}): the standard deviation is {seconds(stds)} for "
                f"the calls right after the compiling call, and {seconds(steady)} without the "
                f"first two of these calls. The first of these calls takes {ratio_text(first)} the "
                "median time."
            )


def change(cases: pd.DataFrame) -> Section | None:
    """Return the section on the cost of changing an array; None if `cases` is empty.

    `cases` is from `summaries.changes`.
    """
    if cases.empty:
        return None
    parts = []
    for variant in TIMED:
        row = row_of(cases.sort_values("size", ascending=False), variant)
        if row is not None:
            compiled = int(row["change_compiles_count"])
            parts.append(
                f"{variant} compiles {counted(compiled, 'program') if compiled else 'no program'}"
                f" and takes {seconds(row['change_median_seconds'])} until the next frame "
                f"(N = {int(row['size'])})"
            )
    outcomes = ["the same program" if row["follows"] else "a new program" for row in rows(cases)]
    columns = (
        HEAD,
        text("Frame from", "outcome", "The program that gave the frame of the new cube"),
        count("Programs compiled", "change_compiles_count"),
        time("Until the next frame", "change"),
    )
    made = table(
        cases.assign(outcome=outcomes),
        columns,
        "closure_change",
        "After the cube has changed",
        group_by=("size",),
    )
    return Section(
        "change",
        "When an array changes",
        f"After the cube of images has changed, {'; '.join(parts)}.",
        paragraphs=(
            "The cube has nearly all bytes of the system. It is replaced by a cube that is twice "
            "as bright. A program that captures the cube returns the old frame, without an error, "
            "until the function is created again. The cached variant returns the old frame until "
            "its maps are computed again.",
        ),
        tables=(made,),
    )


def break_even(curve: pd.DataFrame, cases: pd.DataFrame) -> Section | None:
    """Return the section on the array sizes for which capture is fine; None if `curve` is empty.

    `curve` is from `summaries.curve`, and `cases` is from `summaries.variants`.
    """
    if curve.empty:
        return None
    columns = (
        row_head(
            "Array",
            lambda row: bytes_(row["array_bytes"]),
            lambda row: OPERATIONS.get(row["operation"], str(row["operation"])),
        ),
        count("Processes", "processes_count"),
        time("Trace, lower, compile", "trace_lower_compile"),
        time("As an argument", "argument_trace_lower_compile"),
        time("Extra", "extra", "Compile time minus the time as an argument, paired by round"),
        size("Embedded", "embedded_bytes"),
        time("Steady-state run", "steady"),
        ratio("Steady / argument", "steady_to_argument", "Below 1 if constant folding saves time"),
    )
    made = table(
        curve, columns, "capture_size", "Cost of capture by array size", group_by=("operation",)
    )
    return Section(
        "break_even",
        "When capture is fine",
        _break_even_lead(curve, cases),
        (*_folding_sentences(curve), *too_few(curve)),
        (
            "The measured program multiplies the array, or the result of an operation on it, by a "
            "number and sums the products. The compiler may apply constant folding to the "
            "operation.",
            "Embed an array only if its size costs little by the numbers below. Never embed an "
            "array that changes. Do not embed an array if the program computes something from this "
            "array alone, because the compiler then does this computation in every compile.",
        ),
        (figures.break_even(curve),),
        (made,),
    )


def _slope(curve: pd.DataFrame, operation: str) -> float:
    points = curve.loc[curve["operation"] == operation]
    return slope(points["array_bytes"], points["extra_median_seconds"])


def _break_even_lead(curve: pd.DataFrame, cases: pd.DataFrame) -> str:
    cost = _slope(curve, "none")
    if math.isnan(cost) or cost <= 0:
        return NOTHING
    said = f"Each megabyte of a captured array adds {significant(1e3 * cost)} ms to every compile"
    if cases.empty or (frame := row_of(cases.sort_values("size"), ARGUMENT)) is None:
        return f"{said}."
    typical = frame["trace_lower_compile_median_seconds"]
    return (
        f"{said}. Compiling the smallest frame takes {seconds(typical)}. The compile takes a tenth "
        f"longer with {bytes_(NOTICED * typical / cost * 1e6)} captured. Closing over fewer bytes "
        "is fine if the array never changes."
    )


def _folding_sentences(curve: pd.DataFrame) -> Iterator[str]:
    """Yield, for each operation that adds compile time, a sentence on its cost per megabyte."""
    for operation, name in OPERATIONS.items():
        cost = _slope(curve, operation)
        if operation != "none" and cost > 0:
            yield (
                f"The {name} adds {significant(1e3 * cost)} ms for each megabyte, for arrays of "
                f"{bytes_(LARGE_BYTES)} or more."
            )


def audited(path: Path) -> Section | None:
    """Return the section on arrays that the audit in the file `path` found.

    Return None if the file does not exist or lists no array of at least a kilobyte. If the file
    cannot be read, the section gives only the reason.
    """
    try:
        audit = Audit.from_json(read_file(path))
    except FileNotFoundError:
        return None
    except (OSError, JaxmeterError) as error:
        why = f"{path.name} of {path.parent.name} cannot be read: {error}"[:LONGEST_REASON]
        return Section("audit", "Arrays behind static callables", f"{why}; remove the file.")
    found = [
        {
            "path": array.path or "made while tracing, or held elsewhere",
            "shape": f"{array.dtype}{list(array.shape)}",
            "array_bytes": array.bytes,
            "verdict": array.verdict,
            "line": "; ".join(f"{_short(use.file)}:{use.line}" for use in array.uses),
            "code": "; ".join(use.text for use in array.uses),
        }
        for array in audit.arrays
        if array.bytes >= LEAST_AUDITED_BYTES
    ]
    if not found:
        return None
    columns = (
        row_head("Path", lambda row: row["path"], lambda row: row["shape"]),
        size("Size", "array_bytes"),
        text("Verdict", "verdict"),
        text("Line", "line"),
        text("Code", "code"),
    )
    made = table(pd.DataFrame(found), columns, "closure_audit", "Embedded arrays by path and line")
    return Section(
        "audit",
        "Arrays behind static callables",
        f"The static-callable variant captures {bytes_(sum(row['array_bytes'] for row in found))} "
        "although the system is passed as an argument: jaxmeter.audit finds "
        f"{counted(len(found), 'array')} of at least a kilobyte.",
        paragraphs=(
            "A static callable is a function in the metadata of an argument. The simulator of the "
            "published table had two arrays behind static callables, although its captured bytes "
            "were given as zero. JAX warns about captured arrays only if they have 2 GB or more.",
        ),
        tables=(made,),
    )


def _short(file: str) -> str:
    """Return a file's path from ``benchmarks/`` on; only the name for files outside this folder."""
    _, folder, within = f"/{file}".rpartition("/benchmarks/")
    return f"benchmarks/{within}" if folder else Path(file).name
