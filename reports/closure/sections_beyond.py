"""The study's sections that go beyond the published table: change, size, version, audit."""

import dataclasses
from collections.abc import Sequence

import pandas as pd

from ..document.section import Section
from ..document.table import count, display_table, ratio, row_head, size, text, time
from ..document.words import ratio_range
from ..frames import rows
from ..units import bytes_
from . import figures, sentences
from .sections import HEAD, size_name, variant_name


def change_section(table: pd.DataFrame) -> Section:
    """What happens when a captured array, or an argument, changes."""
    told = table.assign(
        how=[
            "the same program" if row["follows"] else "a new one: the old frame stayed"
            for row in rows(table)
        ]
    )
    columns = (
        HEAD,
        text("Followed by", "how", "What made the frame follow the new cube"),
        count("Programs compiled", "change_compiles_count"),
        time("Until the next frame", "change"),
    )
    return Section(
        "change",
        "When an array changes",
        sentences.change_lead(table),
        paragraphs=(
            "The cube is replaced by one twice as bright. Where it is an argument the program is "
            "called with the new one. A program that embeds it goes on giving the old frame, "
            "without a word, until its function is made again; so does the cached variant, whose "
            "maps have to be computed again.",
        ),
        tables=(
            display_table(
                told, columns, name="closure_change", caption="The cube changes", group_by=("size",)
            ),
        ),
    )


def curve_section(curve: pd.DataFrame, table: pd.DataFrame) -> Section:
    """When capture is fine."""
    arguments = table.loc[table["variant"] == "argument", ["size", "built_median_seconds"]]
    smallest = arguments.sort_values("size")["built_median_seconds"]
    typical = float(smallest.iloc[0]) if len(smallest) else float("nan")
    head = row_head(
        "Array",
        lambda row: bytes_(row["array_bytes"]),
        lambda row: figures.OPERATIONS.get(row["operation"], str(row["operation"])),
    )
    columns = (
        head,
        count("Processes", "processes_count"),
        time("Trace, lower, compile", "built"),
        time("As an argument", "argument_built"),
        time("Extra", "extra", "Round by round"),
        size("Embedded", "embedded_bytes"),
        time("Steady median", "steady"),
        ratio("Steady / argument", "steady_to_argument", "What folding saves each run"),
    )
    return Section(
        "break_even",
        "When capture is fine",
        sentences.curve_lead(curve, typical),
        tuple(sentences.curve_findings(curve)),
        (
            "The smallest program with one array: the array, or an operation on it alone, times a "
            "number, summed. The operation makes the compiler compute on the constant itself where "
            "it thinks that worthwhile.",
        ),
        (figures.break_even(curve),),
        (
            display_table(
                curve,
                columns,
                name="capture_size",
                caption="Cost by size of the array",
                group_by=("operation",),
            ),
        ),
    )


def versions_section(rows_: pd.DataFrame) -> Section:
    """Closure beside argument for each version of JAX; never one version beside another.

    Parameters
    ----------
    rows_ : DataFrame
        `versions.with_kept`.
    """
    joined = rows_.assign(measured=[_when(row) for row in rows(rows_)])
    joined = joined.sort_values(["size", "jax_version"], kind="stable", key=_by_version)
    versions = list(dict.fromkeys(joined["jax_version"]))
    head = row_head(
        "JAX",
        lambda row: str(row["jax_version"]),
        lambda row: f"{size_name(row)}, {variant_name(row)}",
    )
    columns = (
        head,
        text("Python", "python_version"),
        count("Processes", "processes_count"),
        time("Trace", "trace"),
        time("Lower", "lower"),
        time("Compile", "compile"),
        ratio("All three / argument", "built_to_argument", "Within this version"),
        time("Steady median", "steady"),
        ratio("Steady / argument", "steady_to_argument", "Within this version"),
        size("Captured", "captured_bytes"),
        size("Embedded", "embedded_bytes"),
        text("Measured", "measured", "On this machine in this study, or where and when before"),
    )
    lead = f"Measured with JAX {', '.join(sorted(versions, key=_numbers))}."
    if len(versions) < 2:
        lead += " docs/closure.md tells how to add others."
    return Section(
        "versions",
        "Versions of JAX",
        lead,
        paragraphs=(
            "Ratios are within one version. Times of different versions stand side by side and are "
            "not compared: their compilers differ wholly. A variant that a version lacks could not "
            "be lowered or was not asked for: JAX 0.7.2 fails with simplified constants.",
        ),
        tables=(
            display_table(
                joined,
                columns,
                name="closure_versions",
                caption="Closure and argument by version",
                group_by=("jax_version", "size"),
            ),
        ),
    )


def casing_section(section: Section, summary: pd.DataFrame) -> Section:
    """The section of the suites on the virtual casing, with what the study adds to its variants."""
    parts = [
        f"{variant_name(row)} {ratio_range(row, 'compile_to_argument')}"
        for row in rows(summary)
        if row["variant"] in ("hoisted", "cached", "static")
        and not pd.isna(row["compile_to_argument_ratio"])
    ]
    more = () if not parts else (f"Compiling beside the argument variant: {'; '.join(parts)}.",)
    return dataclasses.replace(
        section,
        title="The same for the virtual casing",
        findings=(*section.findings, *more),
        paragraphs=(
            *section.paragraphs,
            "Cached: the matrices of an interpolation, the smallest arrays of a casing, are closed "
            "over, the rest is passed. Hoisted: the closure, by jaxmeter.hoist. Static: an "
            "object is passed that looks like an argument, but holds the casing in a callable "
            "of its metadata.",
        ),
    )


def audit_section(found: Sequence[dict]) -> Section:
    """The arrays behind static callables, by path and line."""
    table = pd.DataFrame(found)
    columns = (
        row_head("Path", lambda row: row["path"], lambda row: row["shape"]),
        size("Size", "array_bytes"),
        text("Verdict", "verdict"),
        text("Line", "line"),
        text("Code", "code"),
    )
    return Section(
        "audit",
        "Arrays behind static callables",
        f"jaxmeter.audit finds {len(table)} arrays of at least a kilobyte that the static-callable "
        f"variant embeds, {bytes_(sum(row['array_bytes'] for row in found))} in all, though the "
        "system is passed as an argument.",
        paragraphs=(
            "JAX warns from 2 GB on. The simulator of the published table held two such arrays "
            "while its captured bytes were given as none.",
        ),
        tables=(display_table(table, columns, name="closure_audit", caption="By path and line"),),
    )


def _when(row: dict) -> str:
    if not row["is_kept"]:
        return "here"
    day = str(row["last_started_utc"])[:10]
    return f"{day}, {row['cpu_model']}, {int(row['cpus_available_count'])} cores"


def _by_version(column: pd.Series) -> pd.Series:
    return column if column.name != "jax_version" else column.map(_numbers)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(n) for n in str(version).split(".") if n.isdecimal())
