"""The section on closing over arrays: what is said, drawn and tabled, before any markup."""

import pandas as pd

from ..document.section import Section
from ..document.table import (
    count,
    display_table,
    error,
    problem_name,
    ratio,
    row_head,
    size,
    text,
    time,
)
from ..sections.summaries import PROBLEM, variant_order
from . import bars as figures_variants
from . import findings as findings_closure

LESSON = (
    "A jitted function can reach an array in two ways: as an argument, or by closing over it. An "
    "argument is to the compiler a shape and a type. A closed-over array becomes a constant of "
    "the program: the compiler is handed its bytes, at every compile, and may try to compute with "
    "them. JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS=1 leaves the source as it is and passes such arrays "
    "as hidden arguments instead.",
    "Each row is one case, measured in fresh processes with the compilation cache off; the "
    "variants took turns within each round, so that the ratios compare neighbours in time. Times "
    "are medians over processes (of each process's own median, for steady-state runs); the small "
    "print is an interval for that median, and × is the ratio to the argument variant.",
)


def closure_section(summary: pd.DataFrame, measured: pd.DataFrame, arrays: pd.DataFrame) -> Section:
    """Closure against argument: times, ratios, bytes, and which arrays were captured."""
    head = row_head("Variant", lambda row: str(row["variant"]), problem_name)
    times = (
        head,
        count("Processes", "processes_count"),
        time("Trace", "trace", "Running the Python function once on abstract values"),
        time("Lower", "lower", "From the jaxpr to StableHLO"),
        time("Compile", "compile", "XLA, cold, no compilation cache"),
        ratio("Compile / argument", "compile_to_argument", "Compile seconds, paired by round"),
        time("First call", "first_call", "The first run of the compiled program"),
        time("Steady-state run", "steady", "Median of process medians"),
        ratio("Settled / argument", "steady_to_argument", "Steady-state seconds, paired by round"),
        time("Settled std", "steady_std", "Within one process; median over processes"),
        error("Error", "error_relative", "Worst over the processes, relative to max|B|"),
    )
    sizes = (
        head,
        size("Captured", "captured_bytes", "Distinct arrays that the function closes over"),
        size("Embedded", "embedded_bytes", "Constants in the program handed to the compiler"),
        size("Hidden arguments", "hidden_argument_bytes", "Captured, passed at run time"),
        size("Casing", "casing_bytes", "All arrays of the prepared casing"),
        size("Arguments", "argument_bytes", "What the compiled program takes"),
        size("Temporary", "temp_bytes", "Scratch memory of the compiled program"),
        size("RSS before", "baseline_rss_bytes", "Resident set just before tracing"),
        size("RSS peak, compile", "compile_peak_rss_bytes", "From there to the compiled program"),
        size("RSS peak", "peak_rss_bytes", "From there to the last steady-state run"),
    )
    tables = (
        display_table(
            summary,
            times,
            name="closure_times",
            caption="Times of each variant",
            group_by=PROBLEM,
        ),
        display_table(
            summary,
            sizes,
            name="closure_bytes",
            caption="Constants and memory of each variant (1 MB = 10⁶ bytes)",
            group_by=PROBLEM,
        ),
    )
    held = _largest_arrays(measured, arrays)
    if len(held):
        tables += (
            display_table(
                held,
                ARRAY_COLUMNS,
                name="captured_arrays",
                caption=f"The largest captured arrays, at most {LARGEST_ARRAYS} a variant",
                group_by=("variant",),
            ),
        )
    return Section(
        "closure",
        "Closure against argument",
        findings_closure.closure_lead(summary),
        tuple(findings_closure.closure_findings(summary)),
        LESSON,
        (figures_variants.variants(summary, measured),),
        tables,
    )


LARGEST_ARRAYS = 5
ARRAY_COLUMNS = (
    row_head("Variant", lambda row: str(row["variant"]), problem_name),
    text("Shape", "array_shape"),
    text("Type", "array_dtype"),
    size("Size", "array_bytes"),
    text("Used in", "place", "The sub-programs around its first use"),
)


def _largest_arrays(measured: pd.DataFrame, arrays: pd.DataFrame) -> pd.DataFrame:
    """The largest captured arrays of each variant, at the problem that captures the most."""
    cases = measured.loc[(measured["status"] == "ok") & measured["variant"].notna()]
    if arrays.empty or cases["captured_bytes"].isna().all():
        return arrays.iloc[:0]
    most = cases.loc[cases["captured_bytes"].idxmax()]
    names = [name for name in PROBLEM if not pd.isna(most[name])]
    same = (cases[names] == most[names]).all(axis=1)
    once = cases.loc[same].drop_duplicates("variant")
    joined = arrays.merge(once[["case", "round_index", "variant", *PROBLEM[2:]]])
    joined["order"] = joined["variant"].map(variant_order)
    joined = joined.sort_values(["order", "array_bytes"], ascending=[True, False])
    joined["place"] = joined["array_where"].replace("", "the function itself")
    return joined.groupby("variant").head(LARGEST_ARRAYS).reset_index(drop=True)
