"""Make the section on closing over arrays: times, ratios, constants and memory."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd

from ..document.section import Section
from ..document.table import (
    PHASES,
    Column,
    Table,
    count,
    error,
    problem_name,
    ratio,
    row_head,
    size,
    table,
    text,
    time,
)
from ..quantities import Row
from ..tables import row_of_largest
from . import figures
from .sentences import lead, sentences
from .summaries import (
    PROBLEM,
    extra_seconds,
    of_variants,
    published,
    slope,
    variant_name,
    variant_order,
)

LESSON = (
    "The compiler receives only the shape and the type of an argument. A closed-over array becomes "
    "a constant of the program: the compiler receives its bytes at every compile, and may apply "
    "constant folding to it. With JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS=1, JAX passes such arrays as "
    "hidden arguments instead.",
    "Each row measured here is one benchmark case, run in fresh processes with the compilation "
    "cache off. The variants are interleaved within each round, so that ratios compare processes "
    "that ran close in time. Times are medians over processes; the small print is the interval of "
    "the median. The sign × marks a ratio to the argument variant. Compile time is the sum of "
    "trace, lower and compile.",
)
LARGEST_ARRAYS = 5


def section(
    here: Mapping[str, pd.DataFrame],
    *,
    name: str = "closure",
    title: str = "Closure against argument",
    picture: Path | None = None,
    with_published: bool = False,
    paragraphs: tuple[str, ...] = LESSON,
) -> Section | None:
    """Return the section of one commit and environment; None if no variant was measured.

    `here` has the tables of this commit and environment. The names of the figures and tables begin
    with `name`, the name of the section. If `with_published` is true, the published table is shown
    above the rows measured here.
    """
    cases, measured = here["closure_versus_argument"], here["measurements"]
    if cases.empty:
        return None
    held = _largest_arrays(measured, here["captured_arrays"])
    points = extra_seconds(cases)
    drawn = () if picture is None else (figures.picture(picture),)
    drawn += (figures.variants(cases, of_variants(measured), name),)
    if len(points):
        fitted = slope(points["extra_bytes"], points["extra_seconds"])
        drawn += (figures.embedded(points, fitted, name),)
    return Section(
        name,
        title,
        lead(cases),
        tuple(sentences(cases)),
        paragraphs,
        drawn,
        tuple(_tables(cases, held, name, with_published)),
    )


def _tables(
    cases: pd.DataFrame, held: pd.DataFrame, name: str, with_published: bool
) -> Iterator[Table]:
    made = cases
    if with_published:
        # The largest size comes first, next to the published rows.
        made = cases.sort_values("size", ascending=False, kind="stable")
        made = pd.concat([published(), made.assign(source="measured here")])
    by = [column for column in ("source", *PROBLEM) if column in made]
    yield table(made, TIMES, f"{name}_times", "Times of each variant", group_by=by)
    caption = "Constants, memory and programs of each variant (1 MB = 10⁶ bytes)"
    yield table(cases, SIZES, f"{name}_bytes", caption, group_by=PROBLEM)
    if len(held):
        caption = f"The largest captured arrays, at most {LARGEST_ARRAYS} for each variant"
        yield table(held, ARRAYS, f"{name}_arrays", caption, group_by=("variant",))


def _largest_arrays(measured: pd.DataFrame, arrays: pd.DataFrame) -> pd.DataFrame:
    """Return the largest captured arrays of each variant, for a single problem.

    This is the problem of the process that captured more bytes than any other process.
    """
    cases = of_variants(measured)
    most = row_of_largest(cases, "captured_bytes")
    if arrays.empty or most is None:
        return arrays.iloc[:0]
    names = [name for name in PROBLEM if not pd.isna(most[name])]
    once = cases.loc[(cases[names] == most[names]).all(axis=1)].drop_duplicates("variant")
    joined = arrays.merge(once[["case", "round_index", "variant", *PROBLEM[2:]]]).assign(
        order=lambda found: found["variant"].map(variant_order),
        place=lambda found: found["array_where"].replace("", "the function itself"),
    )
    joined = joined.sort_values(["order", "array_bytes"], ascending=[True, False])
    return joined.groupby("variant").head(LARGEST_ARRAYS)


def _problem(row: Row) -> str:
    source = row.get("source")
    return problem_name(row) if source is None else f"{problem_name(row)}, {source}"


HEAD = row_head("Variant", lambda row: variant_name(row["variant"]), _problem)
TIMES: tuple[Column, ...] = (
    HEAD,
    count("Processes", "processes_count"),
    *PHASES,
    time("All three", "trace_lower_compile", "Compile time: trace, lower and compile"),
    ratio(
        "All three / argument",
        "trace_lower_compile_to_argument",
        "Ratio of compile times, paired by round",
    ),
    time("First run", "first_call", "The first run of the compiled program"),
    time("First call", "ready", "Trace, lower, compile and the first run"),
    ratio("First call / argument", "ready_to_argument", "Ratio of first calls, paired by round"),
    time("Steady-state run", "steady", "Median of process medians"),
    ratio(
        "Steady / argument", "steady_to_argument", "Ratio of steady-state times, paired by round"
    ),
    time("Steady std", "steady_std", "Standard deviation within a process; median over processes"),
    time("Std, n = 20", "naive_std", "Standard deviation of 20 runs, with the first call included"),
    error("Error", "error_relative", "Maximum over processes, relative to max|B|"),
    error(
        "Rates differ by",
        "rate_difference_relative",
        "Largest difference, relative to the largest rate",
    ),
    count("Pixels that differ", "differing_pixels_count"),
)
SIZES: tuple[Column, ...] = (
    HEAD,
    size("Captured", "captured_bytes", "Distinct arrays that the function closes over"),
    size("Embedded", "embedded_bytes", "Constants in the program that the compiler receives"),
    size(
        "Hidden arguments",
        "hidden_argument_bytes",
        "Captured arrays passed as arguments at run time",
    ),
    size("Casing", "casing_bytes", "All arrays of the prepared casing"),
    size("System", "system_bytes", "All arrays of the simulated system"),
    size("Arguments", "argument_bytes", "Inputs of the compiled program"),
    size("Temporaries", "temp_bytes", "Temporary memory of the compiled program"),
    size("RSS before", "baseline_rss_bytes", "Resident set just before tracing"),
    size(
        "RSS peak, compile",
        "compile_peak_rss_bytes",
        "Peak resident set, up to the end of compiling",
    ),
    size("RSS peak", "peak_rss_bytes", "Peak resident set, up to the last run"),
    size("Device peak", "device_peak_bytes", "Peak memory, if the device reports it"),
    count("HLO instructions", "hlo_instructions_count", "Instructions of the optimised program"),
    count("Fusions", "fusions_count"),
)
ARRAYS: tuple[Column, ...] = (
    row_head("Variant", lambda row: str(row["variant"]), problem_name),
    text("Shape", "array_shape"),
    text("Type", "array_dtype"),
    size("Size", "array_bytes"),
    text("Used in", "place", "The sub-programs that contain its first use"),
)
