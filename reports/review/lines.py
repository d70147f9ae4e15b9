"""Find the source lines that explain changed compile times."""

from ..compile_lines import CompileLineChange, line_changes
from ..document.section import Section
from ..document.table import Cell, Column, Table
from ..units import seconds
from .causes import COMPILING, PROGRAM
from .findings import REPORTED
from .verdict import Review

LEAD = (
    "Source lines of the cases whose compile time or program changed. The times come from one "
    "profile of each commit. They are scaled so that the whole profile takes the median time of "
    "trace, lower and compile."
)


def changed_lines(review: Review) -> dict[str, tuple[CompileLineChange, ...]]:
    """Return by case the changed lines of profiled cases whose compile time or program changed."""
    names = (*COMPILING, *PROGRAM)
    findings = (f for f in review.findings if f.verdict in REPORTED and f.metric.name in names)
    found = {}
    for case in dict.fromkeys(name for f in findings for name in f.pooled or (f.case,)):
        if case in review.commits.base.cases and case in review.commits.head.cases:
            base, head = (side.compile_lines for side in review.commits.case(case))
            if base and head and (changes := line_changes(base, head)):
                found[case] = changes
    return found


def lines_section(review: Review) -> Section | None:
    """Return the section on changed source lines; None if no line changed."""
    found = changed_lines(review)
    if not found:
        return None
    titles = ("Case", "Line", "Base", "Head", "Change", "Equations, kernels", "Slowest kernel")
    numbers = ("Base", "Head", "Change")
    columns = tuple(Column(text, lambda _: [], is_text=text not in numbers) for text in titles)
    rows = tuple(_row(case, change) for case, changes in found.items() for change in changes)
    table = Table("compile-lines", "Lines that explain changed compile times", columns, rows)
    return Section("compile-lines", "Where compile times changed", LEAD, tables=(table,))


def _row(case: str, line: CompileLineChange) -> tuple[Cell, ...]:
    change = line.change_seconds
    sign, tone = ("+", "bad") if change > 0 else ("−", "good")
    return (
        Cell(case, order=case),
        Cell(line.source, note=line.text, order=line.source),
        Cell(seconds(line.base_seconds), order=line.base_seconds),
        Cell(seconds(line.head_seconds), order=line.head_seconds),
        Cell(f"{sign}{seconds(abs(change))}", order=change, tone=tone),
        Cell("; ".join(line.counts), order=len(line.counts)),
        Cell(line.kernel, order=line.kernel),
    )
