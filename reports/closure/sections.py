"""The study's sections: what is said, drawn and tabled, before any markup."""

import math
from pathlib import Path

import pandas as pd

from ..document.section import Section
from ..document.table import count, display_table, error, ratio, row_head, size, text, time
from ..frames import rows
from ..units import bytes_
from . import figures, published, sentences
from .summaries import extra_seconds, slope

# Below this, what embedding costs is lost in the noise of compiling.
LARGE_BYTES = 1e6


def variant_name(row) -> str:
    return str(row["variant"]).replace("_", " ")


def size_name(row) -> str:
    return f"N = {int(row['size'])}"


HEAD = row_head("Variant", variant_name, size_name)
LESSON = (
    "All variants compute the same frame of the same system. Closure: the jitted function closes "
    "over the system. Argument: the system is passed. Cached: rate maps of star and disk, which "
    "stay the same, are closed over on purpose. Simplified: the closure with "
    "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS=1. Hoisted: the closure, its arrays made arguments by "
    "jaxmeter.hoist. Static callable: the system is passed, but two of its tables are reached by "
    "callables that are part of its metadata.",
    "First call: trace, lower, compile and run once, in a fresh process with the compilation cache "
    "off. Published numbers are of another program and machine: what compares is each one's own "
    "closure beside its own argument.",
)


def table_section(table: pd.DataFrame, picture: Path | None) -> Section:
    """The published rows, then ours, smallest size last as in the published table."""
    ours = table.sort_values("size", ascending=False, kind="stable").assign(source="measured here")
    both = pd.concat([published.table(), ours], ignore_index=True)
    columns = (
        row_head("Variant", variant_name, lambda row: f"{size_name(row)}, {row['source']}"),
        count("Processes", "processes_count"),
        time("First call", "ready", "Trace, lower, compile and the first run"),
        ratio("First call / argument", "ready_to_argument", "Paired by round"),
        time("Steady median", "steady", "Median of process medians"),
        ratio("Steady / argument", "steady_to_argument", "Paired by round"),
        time("Std, n = 20", "naive_std", "Counted from the first call after compiling"),
        time("Std, steady", "steady_std", "20 steady-state runs; median over processes"),
        size("Captured", "captured_bytes", "Distinct arrays that the function closes over"),
        size("Embedded", "embedded_bytes", "Constants handed to the compiler"),
        size("Hidden arguments", "hidden_argument_bytes", "Captured, passed at run time"),
    )
    phases = (
        HEAD,
        time("Trace", "trace"),
        time("Lower", "lower"),
        time("Compile", "compile", "XLA, cold"),
        time("All three", "built"),
        ratio("All three / argument", "built_to_argument", "Paired by round"),
        time("First run", "first_call", "The first run of the compiled program"),
        count("HLO instructions", "hlo_instructions_count", "Of the optimised program"),
        count("Fusions", "fusions_count"),
    )
    shown = (figures.picture(picture),) if picture is not None else ()
    return Section(
        "table",
        "The published table, and ours",
        sentences.lead(table),
        tuple(sentences.variant_findings(table)),
        LESSON,
        shown,
        (
            display_table(
                both,
                columns,
                name="closure_rows",
                caption="Closing over and passing: published, and measured here",
                group_by=("source", "size"),
            ),
            display_table(
                table,
                phases,
                name="closure_phases",
                caption="Phases and programs",
                group_by=("size",),
            ),
        ),
    )


def spread_section(table: pd.DataFrame, runs: pd.DataFrame, script: pd.DataFrame) -> Section:
    """Why standard deviations differ.

    Parameters
    ----------
    table, runs : DataFrame
        Frames, and the meter's runs of them.
    script : DataFrame
        `summaries.script_calls`.
    """
    drawn: tuple[figures.Figure, ...] = ()
    timed = runs.loc[runs["variant"].isin(["closure", "argument"])]
    if len(timed):
        largest = timed["size"].max()
        drawn += (figures.runs_in_order(timed.loc[timed["size"] == largest], int(largest)),)
    largest = max(script["size"], default=math.nan)
    script = script.loc[script["size"] == largest]
    if len(script):
        drawn += (figures.script_calls(script.loc[script["run"] > 0], int(largest)),)
    columns = (
        HEAD,
        time("Std, n = 20", "naive_std", "Counted from the first call after compiling"),
        time("Std, steady", "steady_std", "20 steady-state runs"),
        time("First run", "first_call", "The first after compiling"),
        time("Steady median", "steady"),
    )
    return Section(
        "spread",
        "Why the standard deviations differ",
        sentences.spread_lead(table),
        tuple(sentences.script_findings(script)),
        sentences.SPREAD,
        drawn,
        (
            display_table(
                table, columns, name="closure_spread", caption="Spreads", group_by=("size",)
            ),
        ),
    )


def slope_section(table: pd.DataFrame) -> Section:
    """Compile seconds against captured megabytes."""
    points = extra_seconds(table)
    large = points.loc[points["extra_bytes"] >= LARGE_BYTES]
    fitted = slope(zip(large["extra_bytes"], large["extra_seconds"], strict=True))
    return Section(
        "slope",
        "What a megabyte costs",
        sentences.slope_lead(points, large),
        figures=(figures.seconds_against_bytes(points, fitted),) if len(points) else (),
    )


def memory_section(table: pd.DataFrame, skipped: pd.DataFrame) -> Section:
    """Peak memory, and what did not fit."""
    columns = (
        HEAD,
        size("Before tracing", "baseline_rss_bytes", "Resident set, arrays included"),
        size("Peak, compile", "compile_peak_rss_bytes", "From there to the compiled program"),
        size("Peak", "peak_rss_bytes", "From there to the last steady-state run"),
        size("Device peak", "device_peak_bytes", "Where the device tells"),
        size("Captured", "captured_bytes"),
        size("System", "system_bytes", "All arrays"),
    )
    tables = [
        display_table(
            table, columns, name="closure_memory", caption="Peak memory", group_by=("size",)
        )
    ]
    if len(skipped):
        head = row_head("Case", lambda row: str(row["case"]), lambda row: "")
        once = skipped.drop_duplicates("case")
        tables.append(
            display_table(
                once,
                (head, text("Why", "failure_message")),
                name="closure_skipped",
                caption="Not run for want of memory",
            )
        )
    worst = max(rows(table), key=lambda row: row["peak_rss_bytes"])
    lead = (
        f"The most memory was taken by {variant_name(worst)} at {size_name(worst)}: "
        f"{bytes_(float(worst['peak_rss_bytes']))} at its peak, for a system of "
        f"{bytes_(float(worst['system_bytes']))}."
    )
    return Section("memory", "Memory", lead, figures=(figures.memory(table),), tables=tuple(tables))


def equality_section(table: pd.DataFrame) -> Section:
    """Whether all variants compute the same."""
    columns = (
        HEAD,
        error("Rates differ by", "rate_difference_relative", "Of their maximum, at most"),
        count("Pixels whose counts differ", "differing_pixels_count"),
    )
    return Section(
        "equality",
        "The same frame",
        sentences.equality_lead(table),
        paragraphs=(
            "Each process compares its frame with one that the argument variant made of the same "
            "arrays in another process.",
        ),
        tables=(
            display_table(
                table, columns, name="closure_equality", caption="Differences", group_by=("size",)
            ),
        ),
    )
