"""Make the sections of a review, which the page and the Markdown show."""

import math
from collections.abc import Iterator, Sequence

from jaxmeter import Criteria

from ..compile_lines import CompileLineChange
from ..document.section import Fact, Figure, Section
from ..document.svg import BOTTOM, TOP, Drawing, linear_scale
from ..document.table import Cell, Column, Table
from ..units import FORMATS, MISSING, change, counted, difference, seconds, significant
from .causes import Cause, changed_lines
from .findings import Finding
from .verdict import Review

WIDTH, LEFT, RIGHT, ROW = 720.0, 330.0, 60.0, 22.0
MAX_SHOWN_RATIO = 1.6  # longer intervals are cut, so that the other intervals stay visible
MAX_TIMES_SHOWN = 40
NUMBERS = ("Base", "Head", "Change")
LINES_LEAD = (
    "Source lines of the cases in which the compile time or the program changed. The times come "
    "from one profile of each case at each commit. The times are scaled so that the whole profile "
    "takes the median time of trace, lower and compile."
)


def title(review: Review) -> str:
    base, head = (_short(one.commit) for one in (review.commits.base, review.commits.head))
    return f"Review of {head} against {base}"


def _short(commit: str) -> str:
    """Return the beginning of a commit's name, and the name of an injected regression, if any."""
    name, plus, injected = commit.partition("+")
    return f"{name[:10]}{plus}{injected}"


def facts(review: Review) -> tuple[Fact, ...]:
    commits, criteria = review.commits, review.policy.criteria
    gate = "exact metrics and accuracy; times are only reported"
    if review.policy.gate_times:
        gate = "exact metrics, accuracy and times"
    counts = [f.rounds_count for f in review.tested if not f.pooled]
    rounds = "none tested"
    if counts:
        few, many = min(counts), max(counts)
        rounds = f"{f'{few} to ' if many > few else ''}{counted(many, 'paired round')}"
    return (
        _commit(review, "Base", commits.base.commit),
        _commit(review, "Head", commits.head.commit),
        Fact("Environment", commits.environment, "the only environment compared"),
        Fact("Cases", f"{review.compared_count} compared", f"{len(review.lost)} not compared"),
        Fact("Gate", gate),
        Fact(
            "Times",
            f"{len(review.tested)} tested, {len(review.untested)} not tested",
            f"{rounds}; minimum effect {100 * criteria.minimum_effect:g}%, false alarms in "
            f"{100 * criteria.significance:g}% of reviews",
        ),
    )


def _commit(review: Review, name: str, commit: str) -> Fact:
    """Return a `Fact` that names a commit, with its subject and author if they are known."""
    known = review.commits.about.get(commit.partition("+")[0])
    note = f"{known.subject} ({known.author})" if known else ""
    return Fact(name, _short(commit), note)


def sections(review: Review) -> Iterator[Section]:
    """Yield the sections of a review; broken cases come first, and all numbers come last."""
    if review.broken:
        table = _lost_table(review, is_regression=True)
        yield Section("broken", "Broken", "", tables=(table,))
    for index, cause in enumerate(review.causes):
        table = _findings_table(cause.findings, f"cause-{index}", "Findings")
        name, texts = cause_name(index, cause), _program_diffs(review, cause)
        yield Section(name, cause.title, "", cause.evidence, tables=(table,), texts=texts)
    lines = changed_lines(review.commits, review.findings)
    if lines:
        rows = [_line_row(case, line) for case, changes in lines.items() for line in changes]
        caption = "Lines that explain changed compile times"
        titles = ("Case", "Line", *NUMBERS, "Changed counts", "Slowest kernel")
        table = _table("compile-lines", caption, titles, rows)
        yield Section("compile-lines", "Where compile times changed", LINES_LEAD, tables=(table,))
    primary = [f for f in review.findings if f.is_primary]
    if primary:
        tested = review.tested
        figures = (times_figure(tested, review.policy.criteria),) if tested else ()
        lead = f"{len(tested)} tested, {len(review.slower)} longer, {len(review.faster)} shorter."
        table = _findings_table(primary, "times", "Compile and steady-state times of every case")
        yield Section("times", "Times", lead, figures=figures, tables=(table,))
    if review.inconclusive:
        lead = (
            "These numbers vary between the processes of a commit, or are not finite at both "
            "commits."
        )
        caption = "Exact metrics and errors without a verdict"
        table = _findings_table(review.inconclusive, "inconclusive", caption)
        yield Section("inconclusive", "Inconclusive", lead, tables=(table,))
    yield from _not_compared(review)
    if review.findings:
        table = _findings_table(review.findings, "everything", "Every metric of every case")
        numbers = counted(len(review.findings), "number")
        lead = f"{numbers} of {counted(review.compared_count, 'case')}."
        yield Section("everything", "All numbers", lead, tables=(table,))


def _not_compared(review: Review) -> Iterator[Section]:
    """Yield the sections on processes, cases, environments and files that were not compared."""
    if review.flaky:
        lead = "Some processes of these cases failed. Only the successful processes are compared."
        lines = tuple(f"{case}: {message}" for case, message in review.flaky.items())
        yield Section("flaky", "Failed processes", lead, lines)
    table = _lost_table(review, is_regression=False)
    if table.rows or review.commits.left_out:
        lead = "The review does not compare these cases, environments and folders."
        lines = tuple(f"{entry.name}: {entry.reason}" for entry in review.commits.left_out)
        tables = (table,) if table.rows else ()
        yield Section("missing", "Not compared", lead, lines, tables=tables)
    if review.commits.skipped:
        lines = tuple(f"{file.path}: {file.reason}" for file in review.commits.skipped)
        yield Section("skipped", "Files skipped", "", lines)


def _program_diffs(review: Review, cause: Cause) -> tuple[tuple[str, str], ...]:
    """Return the known differences between the programs of the cause's cases."""
    if cause.kind not in ("program", "retraces", "constants"):
        return ()
    known = review.commits.programs
    cases = dict.fromkeys(f.case for f in cause.findings if f.case in known)
    return tuple((f"Differences between the programs of {case}", known[case]) for case in cases)


def cause_name(index: int, cause: Cause) -> str:
    return f"{cause.kind}-{index}"


def _table(
    name: str, caption: str, titles: Sequence[str], rows: Sequence[tuple[Cell, ...]]
) -> Table:
    """Return a table from rows of cells."""
    columns = (Column(text, lambda found: [], is_text=text not in NUMBERS) for text in titles)
    return Table(name, caption, tuple(columns), tuple(rows))


def _findings_table(findings: Sequence[Finding], name: str, caption: str) -> Table:
    rows = [_row(finding) for finding in findings]
    return _table(name, caption, ("Case", "Metric", *NUMBERS, "Verdict"), rows)


def _lost_table(review: Review, *, is_regression: bool) -> Table:
    lost = [entry for entry in review.lost if entry.is_regression == is_regression]
    rows = [(_text(entry.case), _text(entry.reason)) for entry in lost]
    name = "broken" if is_regression else "missing"
    return _table(name, "Cases that cannot be compared", ("Case", "Reason"), rows)


def _line_row(case: str, line: CompileLineChange) -> tuple[Cell, ...]:
    more_seconds = line.change_seconds
    words = difference(line.base_seconds, line.head_seconds, "seconds")
    return (
        _text(case),
        Cell(line.source, note=line.text, order=line.source),
        Cell(seconds(line.base_seconds), order=line.base_seconds),
        Cell(seconds(line.head_seconds), order=line.head_seconds),
        Cell(words, order=more_seconds, tone="bad" if more_seconds > 0 else "good"),
        Cell("; ".join(line.counts), order=len(line.counts)),
        _text(line.kernel),
    )


def _text(text: str) -> Cell:
    return Cell(text, order=text)


def _row(finding: Finding) -> tuple[Cell, ...]:
    verdict = finding.verdict
    is_judged = verdict in ("regression", "improvement")
    tone = {"regression": "bad", "improvement": "good"}.get(verdict, "")
    gated = " (gated)" if verdict == "regression" and finding.is_gated else ""
    # The note is the reason for the verdict. A significant time shows its interval instead.
    note = f": {finding.note}" if finding.note and not (finding.is_tested and is_judged) else ""
    interval = f"{significant(finding.low)}–{significant(finding.high)}"
    return (
        _text(finding.case),
        _text(finding.metric.title),
        _number(finding, finding.base),
        _number(finding, finding.head),
        Cell(
            change_words(finding),
            note=interval if finding.is_tested else "",
            order=finding.ratio,
            tone=tone,
        ),
        Cell(f"{verdict}{gated}{note}", order=verdict),
    )


def _number(finding: Finding, value: float) -> Cell:
    """Return the table cell of a number, or a dash if the commit has no value.

    A NaN of an error metric is a value: the commit was measured, and its result was NaN.
    """
    if math.isnan(value) and (finding.only_at or finding.metric.kind != "error"):
        return Cell(MISSING, order=-math.inf)
    return Cell(FORMATS[finding.metric.unit](value), exact=repr(value), order=value)


def change_words(finding: Finding) -> str:
    """Return the change as text: the ratio HEAD / BASE, the difference, or a phrase."""
    base, head, metric = finding.base, finding.head, finding.metric
    if finding.only_at:
        return f"only at {finding.only_at}"
    if not math.isfinite(head):
        return "not finite"
    if not math.isfinite(base):
        return "not finite at BASE"
    if head == base:
        return "="
    return change(base, head, metric.unit, is_exact=metric.kind == "exact")


def times_figure(findings: Sequence[Finding], criteria: Criteria) -> Figure:
    """Draw HEAD / BASE and its interval, for the `MAX_TIMES_SHOWN` times that changed most."""
    ordered = sorted(findings, key=lambda f: -abs(f.ratio - 1))[:MAX_TIMES_SHOWN]
    high = min(max([1.1, *(1 + f.reach for f in ordered)]), MAX_SHOWN_RATIO)
    x = linear_scale(2 - high, high, LEFT, WIDTH - RIGHT)
    height = TOP + ROW * len(ordered) + BOTTOM
    listed = "; ".join(f"{f.case} {f.metric.title} {significant(f.ratio)}" for f in ordered)
    panel = Drawing("Times at HEAD over times at BASE", listed, height, WIDTH)
    step = 0.05 if high < 1.2 else 0.2
    count = round((high - 1) / step - 0.49)
    ticks = [1 + step * i for i in range(-count, count + 1)]
    panel.bottom_axis([(x(t), f"{t:.2f}") for t in ticks], "HEAD / BASE", LEFT, RIGHT)
    for bound in (1 / (1 + criteria.minimum_effect), 1 + criteria.minimum_effect):
        panel.line(x(bound), TOP - 6, x(bound), height - BOTTOM, "limit")
    marks = {"regression": ("series-1", "triangle"), "improvement": ("series-2", "diamond")}
    for index, finding in enumerate(ordered):
        y = TOP + ROW * (index + 0.5)
        series, shape = marks.get(finding.verdict, ("series-5", "circle"))
        low, middle, end = (
            x(min(max(value, 2 - high), high))
            for value in (finding.low, finding.ratio, finding.high)
        )
        name = f"{finding.case}, {finding.metric.title}"
        panel.text(LEFT - 8, y + 4, name, "small", anchor="end")
        panel.polyline([(low, y), (end, y)], f"series {series}")
        tip = f"{name}: {finding.verdict}, {finding.note}"
        panel.mark(shape, middle, y, f"mark {series}", r=4.5, tip=tip)
        panel.text(WIDTH - RIGHT + 8, y + 4, f"{significant(finding.ratio)}×", "value small")
    caption = (
        "Each mark is the trimmed, weighted geometric mean of the ratios of all rounds. The line "
        "through the mark is its interval. Triangles are longer times, diamonds are shorter times, "
        "and circles are all other times. A ratio between the dashed lines never counts as longer "
        "or shorter."
    )
    return Figure("times", "Times, HEAD over BASE", caption, (panel,))
