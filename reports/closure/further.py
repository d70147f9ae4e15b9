"""Further sections of the closure report: spread of runs, a changed array, array size, audit."""

import math
import statistics
from collections.abc import Iterator, Sequence
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

NOTHING = "Nothing of this was measured."
TIMED = ("closure", ARGUMENT)
NOTICED = 0.1  # share of a program's compile time, and seconds, that a user notices
LEAST_AUDITED_BYTES = 1000


def spread(cases: pd.DataFrame, runs: pd.DataFrame, script: pd.DataFrame) -> Section:
    """Show why standard deviations differ: of `summaries.variants`, runs and `script_calls`.

    `runs` has the seconds of each run of each frame's process, the first call as run 0.
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
            "One run that takes d longer than the others raises the standard deviation of n runs "
            "by about d / √n: 28 ms in one of twenty runs make the published 6.2 ms, and the "
            "median does not move. The first call after compiling can be such a run: JAX sets up "
            "its fast path in it, and it is the first to touch the memory of its results. A "
            "spread that describes the program leaves it out. The drawings show whether this "
            "happened here.",
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
                f"{variant} {seconds(row['naive_std_median_seconds'])} with the first call, which "
                f"takes {ratio_text(first)} the steady-state run, and "
                f"{seconds(row['steady_std_median_seconds'])} in the steady state"
            )
    if not parts:
        return NOTHING
    return f"At N = {int(largest)}, the standard deviation of 20 runs: {'; '.join(parts)}."


def _script_sentences(script: pd.DataFrame) -> Iterator[str]:
    """State the spread of calls timed as a script does, of one size, and its cause."""
    for variant in TIMED:
        ordered = script.loc[(script["variant"] == variant) & (script["run"] > 0)]
        runs = [list(g.sort_values("run")["seconds"]) for _, g in groups(ordered, ["round_index"])]
        runs = [taken for taken in runs if len(taken) > 4]
        if runs:
            stds = statistics.median(statistics.stdev(taken) for taken in runs)
            steady = statistics.median(statistics.stdev(taken[2:]) for taken in runs)
            first = statistics.median(taken[0] / statistics.median(taken) for taken in runs)
            yield (
                f"{variant.capitalize()}, timed as a script does (N = {script['size'].max():.0f}, "
                f"{counted(len(runs), 'process')}): standard deviation {seconds(stds)} over the "
                f"calls right after the one that compiles, {seconds(steady)} without the first "
                f"two; the first takes {ratio_text(first)} the median."
            )


def change(cases: pd.DataFrame) -> Section | None:
    """Show the cost of changing a captured array, and an argument, from `summaries.changes`."""
    if cases.empty:
        return None
    parts = []
    for variant in TIMED:
        row = row_of(cases.sort_values("size", ascending=False), variant)
        if row is not None:
            compiled = int(row["change_compiles_count"])
            parts.append(
                f"{variant}: {counted(compiled, 'program') if compiled else 'no program'} compiled,"
                f" {seconds(row['change_median_seconds'])} until the next frame "
                f"(N = {int(row['size'])})"
            )
    outcomes = ["the same program" if row["follows"] else "a new program" for row in rows(cases)]
    columns = (
        HEAD,
        text("Followed by", "outcome", "The program that gave the frame of the new cube"),
        count("Programs compiled", "change_compiles_count"),
        time("Until the next frame", "change"),
    )
    made = table(
        cases.assign(outcome=outcomes),
        columns,
        "closure_change",
        "The cube changes",
        group_by=("size",),
    )
    return Section(
        "change",
        "When an array changes",
        f"The cube changes. {'; '.join(parts)}.",
        paragraphs=(
            "The cube is replaced by one twice as bright. Where it is an argument, the program is "
            "called with the new cube. A program that embeds the cube returns the old frame, "
            "without an error, until the function is created again; so does the cached variant, "
            "whose maps have to be computed again.",
        ),
        tables=(made,),
    )


def break_even(curve: pd.DataFrame, cases: pd.DataFrame) -> Section | None:
    """Show when capture is fine, from `summaries.curve` and `summaries.variants`."""
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
        time("Extra", "extra", "Round by round"),
        size("Embedded", "embedded_bytes"),
        time("Steady-state run", "steady"),
        ratio("Steady / argument", "steady_to_argument", "Time saved by constant folding"),
    )
    made = table(
        curve, columns, "capture_size", "Cost by size of the array", group_by=("operation",)
    )
    return Section(
        "break_even",
        "When capture is fine",
        _break_even_lead(curve, cases),
        tuple(_break_even_sentences(curve)),
        (
            "The smallest program with one array: the array, or an operation on it alone, times a "
            "number, summed. The compiler may fold the operation on the constant.",
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
    said = f"An array alone adds {significant(1e3 * cost)} ms to every compile for each megabyte"
    if cases.empty or (frame := row_of(cases.sort_values("size"), ARGUMENT)) is None:
        return f"{said}."
    typical = frame["trace_lower_compile_median_seconds"]
    return (
        f"{said}; a program that takes {seconds(typical)} to compile, as the frame does at the "
        f"smallest size, takes a tenth longer at {bytes_(NOTICED * typical / cost * 1e6)}: below "
        "that, and where the array never changes, closing over it is fine."
    )


def _break_even_sentences(curve: pd.DataFrame) -> Iterator[str]:
    """State for each operation the cost of the largest array, and the size that is noticed."""
    names = {"none": "The array alone", "exp": "Its exp", "cumsum": "Its cumulative sum"}
    for operation, name in names.items():
        found = curve.loc[curve["operation"] == operation].dropna(subset="extra_median_seconds")
        if found.empty:
            continue
        sizes, costs = list(found["array_bytes"]), list(found["extra_median_seconds"])
        said = f"{name}: {seconds(max(costs[-1], 0.0))} more at {bytes_(sizes[-1])}"
        noticed = [n for i, n in enumerate(sizes) if min(costs[i:]) > NOTICED]
        if noticed:
            said += f"; above a tenth of a second from {bytes_(noticed[0])} on"
        cost = _slope(curve, operation)
        if operation != "none" and cost > 0:
            said += f"; {significant(1e3 * cost)} ms a megabyte from {bytes_(LARGE_BYTES)} on"
        yield f"{said}."
    yield from too_few(curve)
    yield (
        "Three rules follow: embed only small arrays (numbers above), never an array that changes, "
        "and none on which the program computes before it meets an argument, since the compiler "
        "then folds that computation in every compile."
    )


def audited(path: Path) -> Section | None:
    """Show the arrays behind static callables, by path and line; None without an audit."""
    try:
        audit = Audit.from_json(read_file(path))
    except FileNotFoundError:
        return None
    except (OSError, JaxmeterError) as error:
        why = f"{path.name} of {path.parent.name} cannot be read: {error}"[:LONGEST_REASON]
        return Section("audit", "Arrays behind static callables", f"{why}; remove it.")
    found = [
        {
            "path": array.path or "made while tracing",
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
    made = table(pd.DataFrame(found), columns, "closure_audit", "By path and line")
    return Section(
        "audit",
        "Arrays behind static callables",
        f"jaxmeter.audit finds {counted(len(found), 'array')} of at least a kilobyte that the "
        f"static-callable variant embeds, {bytes_(sum(row['array_bytes'] for row in found))} in "
        "all, though the "
        "system is passed as an argument.",
        paragraphs=(
            "JAX warns from 2 GB on. The simulator of the published table held two such arrays "
            "while its captured bytes were given as zero.",
        ),
        tables=(made,),
    )


def _short(file: str) -> str:
    """Return the path from the repository's folder on: the machine's own is not shown."""
    parts: Sequence[str] = Path(file).parts
    return "/".join(parts[parts.index("benchmarks") :]) if "benchmarks" in parts else parts[-1]
