"""Describe a compile profile: its stages, source lines, kernels and suggestions."""

from __future__ import annotations

from collections import defaultdict
from typing import get_args

from jaxmeter._records.compile import CompiledKernel, CompiledLine, CompileProfile, Stage
from jaxmeter._render.sheet import Code, Row, Sheet, Table
from jaxmeter._render.units import count_text, place_text, seconds_text

_LINES_COUNT = 10
_OPERATIONS_COUNT = 4
_LEAST_SHARE = 5e-4
_BASES = {"measured": "measured", "unattributed": "not attributed"}


def compile_sheet(profile: CompileProfile) -> Sheet:
    """Describe the time of each stage, the slowest lines and kernels, and the suggestions."""
    share = f"{100 * profile.attributed_share:.0f} % attributed to lines"
    measured = f"{100 * profile.measured_share:.0f} % by measurement"
    kernels = count_text(len(profile.kernels), "kernel")
    headline = (
        f"{profile.name}: trace {seconds_text(profile.trace_seconds)}, lower "
        f"{seconds_text(profile.lower_seconds)}, compile {seconds_text(profile.compile_seconds)}, "
        f"{kernels} ({share}, {measured})"
    )
    columns = ("trace:", "lower:", "compile:", "equations:", "kernels:")
    rest = sum(entry.seconds for entry in profile.rows if not entry.source)
    lines = [_line(line, profile.seconds) for line in profile.lines]
    # The row of unattributed time is sorted by time like the other rows, but is always among the
    # rows that a terminal shows.
    at = min(sum(line.seconds >= rest for line in profile.lines), _LINES_COUNT - 1)
    numbers = seconds_text(rest), _share(rest, profile.seconds), *("" for _ in columns)
    lines.insert(at, Row("(unattributed)", *numbers))
    tables = (
        Table(("stage", "time:", "share:", "known by"), _stages(profile)),
        Table(("line", "time:", "share:", *columns), lines, details="code", limit=_LINES_COUNT),
        Table(
            ("kernel", "time:", "emit:", "LLVM:", "primitive", "scope", "line"),
            [_kernel(kernel) for kernel in profile.kernels],
            details="operations",
            limit=8,
            details_limit=1,
        ),
    )
    notes = []
    if profile.unpaired_kernels_count:
        notes.append(
            f"the LLVM time of {count_text(profile.unpaired_kernels_count, 'kernel')} could not be "
            "found among the compiler's tasks"
        )
    if not profile.kernels and profile.backend != "cpu":
        notes.append(f"kernels are attributed to lines only on CPU, not on {profile.backend}")
    suggestions = tuple(
        f"{place_text(one.source)} ({one.rule}, up to {seconds_text(one.seconds, 2)} of "
        f"{seconds_text(profile.seconds, 2)}): {one.text}"
        for one in profile.advice
    )
    return Sheet(headline, None, tables, tuple(notes), suggestions)


def _stages(profile: CompileProfile) -> list[Row]:
    rows = []
    for stage in get_args(Stage):
        spent: dict[str, float] = defaultdict(float)
        for entry in profile.rows:
            if entry.stage == stage:
                spent[_BASES.get(entry.basis, f"divided {entry.basis}")] += entry.seconds
        seconds = sum(spent.values())
        if seconds >= _LEAST_SHARE * profile.seconds:
            bases = ", ".join(
                basis if len(spent) == 1 else f"{basis} {_share(part, seconds)}"
                for basis, part in sorted(spent.items(), key=lambda item: -item[1])
            )
            rows.append(Row(stage, seconds_text(seconds), _share(seconds, profile.seconds), bases))
    return rows


def _line(line: CompiledLine, total: float) -> Row:
    return Row(
        Code(place_text(line.source)),
        seconds_text(line.seconds),
        _share(line.seconds, total),
        seconds_text(line.trace_seconds),
        seconds_text(line.lower_seconds),
        seconds_text(line.compile_seconds),
        str(line.equations_count),
        str(line.kernels_count),
        details=[Code(line.text)] if line.text else [],
    )


def _kernel(kernel: CompiledKernel) -> Row:
    most = list(kernel.operations.items())[:_OPERATIONS_COUNT]
    named = ", ".join(code if count == 1 else f"{count} {code}" for code, count in most)
    more = ", ..." if len(kernel.operations) > len(most) else ""
    return Row(
        Code(kernel.name),
        seconds_text(kernel.seconds),
        seconds_text(kernel.emit_seconds),
        seconds_text(kernel.llvm_seconds),
        kernel.primitive,
        kernel.scope,
        Code(place_text(kernel.source)) if kernel.source else "(unattributed)",
        details=[f"{named}{more}"] if named else [],
    )


def _share(seconds: float, total: float) -> str:
    return f"{100 * seconds / total:.1f} %" if total else ""
