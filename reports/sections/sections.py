"""The page's other sections: what is said, drawn and tabled, before any markup."""

import pandas as pd

from ..document.section import Section
from ..document.table import (
    Cell,
    Column,
    count,
    digits_name,
    display_table,
    error,
    problem_name,
    ratio,
    row_head,
    size,
    text,
    time,
    workload_name,
)
from ..units import bytes_, scientific, seconds
from . import chunks as figures_chunks
from . import findings
from . import reference as figures_methods
from .summaries import PROBLEM


def chunk_section(summary: pd.DataFrame) -> Section:
    """Chunk sizes: steady-state seconds and temporary memory, the fastest case and auto."""
    said = findings.chunk_findings(summary)
    columns = (
        row_head("chunk_size", lambda row: str(row["chunk_size"]), problem_name),
        text("target_chunk_size", "target_chunk_size"),
        count("Processes", "processes_count"),
        time("Steady-state run", "steady", "Median of process medians"),
        ratio("Settled / fastest", "steady_to_fastest", "Steady-state seconds, paired by round"),
        time("Settled std", "steady_std", "Within one process; median over processes"),
        size("Temporary", "temp_bytes", "Scratch memory of the compiled program"),
        time("Compile", "compile", "XLA, cold, no compilation cache"),
        size("RSS peak", "peak_rss_bytes", "Peak resident set of the process"),
        error("Error", "error_relative", "Worst over the processes, relative to max|B|"),
    )
    table = display_table(
        summary,
        columns,
        name="chunk_sizes",
        caption="Each pair of chunk sizes",
        group_by=PROBLEM,
    )
    return Section(
        "chunks",
        "Chunk sizes",
        said[0] if said else "No case of the chunk-size sweep was timed.",
        tuple(said[1:]),
        (
            "The far field is summed tile by tile: chunk_size source points by target_chunk_size "
            "target points at a time. Small tiles stay in the cache; large ones need more "
            "temporary memory.",
        ),
        (figures_chunks.chunk_maps(summary),),
        (table,),
    )


def accuracy_section(table: pd.DataFrame) -> Section:
    """Error against digits, every workload and method."""
    columns = (
        row_head("Method", lambda row: str(row["method"]), problem_name),
        text("Suite", "suite"),
        count("Processes", "processes_count"),
        error("Asked", "limit_relative", "10⁻ᵈ"),
        error("Worst error", "error_worst_relative", "Relative to max|B|", within="is_within"),
        error("Best error", "error_best_relative", "Relative to max|B|"),
        ratio("Worst / asked", "error_to_limit", "At most 1 is within the limit", interval=False),
    )
    return Section(
        "accuracy",
        "Accuracy",
        findings.accuracy_lead(table),
        (),
        (
            "Every measurement checks its answer: the field on the targets against the known one "
            "of coils outside and currents inside, the largest deviation divided by max|B|.",
        ),
        (figures_methods.accuracy(table),),
        (
            display_table(
                table,
                columns,
                name="accuracy",
                caption="Errors against the limit asked",
                group_by=PROBLEM,
            ),
        ),
    )


def reference_section(table: pd.DataFrame, *, gradient: bool = False) -> Section:
    """vcjax beside the C++ package: times, ratios, errors, and compile seconds.

    Of fields, or of gradients on the surface.
    """
    name = "gradient_against_reference" if gradient else "against_reference"
    what = "gradient" if gradient else "field"
    columns = (
        row_head("Problem", workload_name, digits_name),
        count("Processes", "processes_count"),
        time("Evaluation", "evaluation", f"A further {what} by vcjax"),
        time("C++ evaluation", "reference_evaluation", f"A further {what} by the reference"),
        ratio("C++ / vcjax", "evaluation_speedup", "Evaluation, process by process"),
        time("Set-up + evaluation", "setup", "choose, tables, prepare, evaluate; compiled before"),
        time("C++ set-up + evaluation", "reference_setup", f"A new object and its first {what}"),
        ratio("C++ / vcjax ", "setup_speedup", "Set-up + evaluation, process by process"),
        time("Compile", "all_compile", "Trace, lower and compile of prepare and evaluation"),
        count("Repaid after", "evaluations_to_repay_compile_count", "Number of evaluations"),
        error("Error", "error_relative", "Worst over the processes"),
        error("C++ error", "reference_error_relative", "Worst over the processes"),
        ratio("CPU / wall", "cpu_per_wall_highest", "1: one thread; the most", interval=False),
        ratio("C++ CPU / wall", "reference_cpu_per_wall_highest", "1: one thread", interval=False),
    )
    return Section(
        "gradient_reference" if gradient else "reference",
        "Gradients against the C++ reference" if gradient else "Against the C++ reference",
        findings.reference_lead(table, what),
        tuple(findings.reference_findings(table)),
        (
            "Both packages ran in the same worker process, turn by turn, one thread each, on the "
            "same surface, field and targets. Set-up + evaluation is a new surface up to its "
            f"first {what}, evaluation a further {what} on it. A ratio is the reference's seconds "
            "over those of vcjax in the same process, its median and interval over processes. "
            "Compiling is paid once a process and has a column of its own.",
        ),
        (figures_methods.against_reference(table, name),),
        (
            display_table(
                table,
                columns,
                name=name,
                caption=f"The {what} by vcjax and by the C++ reference",
                group_by=("workload", "half_period"),
            ),
        ),
    )


def preparation_section(table: pd.DataFrame) -> Section:
    """What it costs to choose a rule and to prepare a casing, each measured once a run."""
    columns = (
        row_head("Problem", workload_name, digits_name),
        count("Processes", "processes_count"),
        time("Choose", "choose", "Parameters from digits, surface and field, on the host"),
        time("Tables", "tables", "Constants of a rule, on the host"),
        time("Prepare", "steady", "Steady-state run of the compiled preparation"),
        time("Trace", "trace"),
        time("Lower", "lower"),
        time("Compile", "compile", "XLA, cold, no compilation cache"),
        size("Casing", "casing_bytes", "All arrays of the prepared casing"),
        size("Temporary", "temp_bytes", "Scratch memory of the compiled program"),
        size("RSS peak", "peak_rss_bytes", "Peak resident set of the process"),
    )
    return Section(
        "preparation",
        "Preparing a casing",
        findings.preparation_lead(table),
        paragraphs=(
            "A casing is prepared once for a surface and then evaluated often. All variants and "
            "chunk sizes above evaluated the casings that were prepared here.",
        ),
        tables=(display_table(table, columns, name="preparation", caption="Each preparation"),),
    )


def problems_section(failures: pd.DataFrame) -> Section:
    """What failed, was skipped or could not be read, and why."""
    columns = (
        row_head("Case", lambda row: str(row["case"]), _round_name),
        text("Status", "status"),
        text("Phase", "failure_phase"),
        text("Kind", "failure_kind"),
        text("Message", "failure_message"),
    )
    tables = (
        display_table(
            failures, columns, name="failures", caption="One row for each process or file"
        ),
    )
    return Section(
        "problems",
        "Failed, skipped, unreadable",
        findings.problems_lead(failures),
        tables=tables if len(failures) else (),
    )


def asv_section(kept: pd.DataFrame) -> Section:
    """What asv stored for this commit, value by value."""
    with_value = kept.loc[kept["value"].notna()]
    numbers = len(with_value)
    columns = (
        row_head("Benchmark", lambda row: row["benchmark"], lambda row: row["parameters"]),
        Column("Value", _asv_values, "Median of the process medians, or the number itself"),
        count("Processes", "samples_count", "Process medians that asv kept"),
    )
    table = display_table(with_value, columns, name="asv", caption="Values that asv keeps")
    return Section(
        "asv",
        "What asv keeps",
        f"asv holds {numbers} values of this commit, in {kept['benchmark'].nunique()} benchmarks; "
        f"{len(kept) - numbers} combinations of the full grid were not measured in this run.",
        tables=(table,) if numbers else (),
    )


def _round_name(row: dict) -> str:
    value = row["round_index"]
    return "" if pd.isna(value) else f"round {int(value)}"


def _asv_values(frame: pd.DataFrame) -> list[Cell]:
    return [
        Cell(PRINTED.get(unit, str)(value), exact=f"{value!r} {unit}", order=value)
        for value, unit in zip(frame["value"], frame["unit"], strict=True)
    ]


# How a value of asv's is printed, by its unit there.
PRINTED = {"seconds": seconds, "bytes": bytes_, "1": scientific}
