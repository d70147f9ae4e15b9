"""What a review tells, section by section: the page and the Markdown are made of the same."""

import math
from collections.abc import Sequence

from jaxmeter import MIN_ROUNDS_COUNT

from ..document.section import Fact, Section
from ..document.table import Cell, Column, Table
from ..document.words import counted
from ..units import MISSING, bytes_, scientific, seconds, significant
from .causes import Cause
from .figure import times_figure
from .findings import Finding
from .review import Review

TELL = {
    "seconds": seconds,
    "bytes": bytes_,
    "relative": scientific,
    "count": lambda value: f"{value:,.0f}".replace(",", "\u2009"),
}


def title(review: Review) -> str:
    base, head = (_short(side.commit) for side in (review.sides.base, review.sides.head))
    return f"Review of {head} against {base}"


def _short(commit: str) -> str:
    """The beginning of a commit's name, with the regression that was planted into it, if any."""
    name, plus, planted = commit.partition("+")
    return f"{name[:10]}{plus}{planted}"


def facts(review: Review) -> tuple[Fact, ...]:
    sides = review.sides
    criteria = review.judging.criteria
    gate = (
        "exact metrics, accuracy and times"
        if review.judging.gate_times
        else ("exact metrics and accuracy; times inform")
    )
    untested = len(review.untested)
    tested = [f for f in review.findings if f.is_primary and f.is_tested]
    rounds = [f.rounds_count for f in tested if not f.joined]
    told = "none tested"
    if rounds:
        few, many = min(rounds), max(rounds)
        told = f"{f'{few} to ' if many > few else ''}{counted(many, 'round')} side by side"
    return (
        Fact("Base", sides.base.commit[:12]),
        Fact("Head", sides.head.commit[:12]),
        Fact("Setting", sides.base.setting, "the only one compared"),
        Fact("Cases", f"{review.compared_count} compared", f"{len(review.lost)} not"),
        Fact("Gate", gate),
        Fact(
            "Times",
            f"{len(tested)} tested, {untested} not",
            f"{told}; least effect {100 * criteria.minimum_effect:g}%, false alarms in "
            f"{100 * criteria.significance:g}% of reviews",
        ),
    )


def sections(review: Review) -> tuple[Section, ...]:
    """Broken cases, the causes, the tested times, what was not compared, everything."""
    made = []
    if review.broken:
        made.append(Section("broken", "Broken", "", tables=(_lost_table(review, is_worse=True),)))
    for index, cause in enumerate(review.causes):
        table = findings_table(cause.findings, f"cause-{index}", "What it changed")
        name = cause_name(index, cause)
        texts = _program_diffs(review, cause)
        made.append(Section(name, cause.title, "", cause.evidence, tables=(table,), texts=texts))
    primary = [f for f in review.findings if f.is_primary]
    tested = [finding for finding in primary if finding.is_tested]
    if primary:
        figures = (times_figure(tested, review.judging.criteria),) if tested else ()
        lead = f"{len(tested)} tested, {len(review.slower)} longer, {len(review.faster)} shorter."
        said = _untested(review)
        table = findings_table(primary, "times", "Building and steady-state runs of every case")
        made.append(Section("times", "Times", lead, said, figures=figures, tables=(table,)))
    if review.inconclusive:
        lead = "The processes of one commit disagree, so that these tell nothing for sure."
        table = findings_table(
            review.inconclusive, "inconclusive", "Exact metrics and errors that vary"
        )
        made.append(Section("inconclusive", "Unclear", lead, tables=(table,)))
    made += _not_compared(review)
    if review.findings:
        rest = findings_table(review.findings, "everything", "Every metric of every case")
        lead = f"{len(review.findings)} numbers of {review.compared_count} cases."
        made.append(Section("everything", "Everything compared", lead, tables=(rest,)))
    return tuple(made)


def _not_compared(review: Review) -> list[Section]:
    """Processes, cases, settings, folders and files that no number of the review comes from."""
    made = []
    if review.flaky:
        lead = "These cases are compared by the processes that succeeded."
        said = tuple(f"{case}: {told}" for case, told in review.flaky.items())
        made.append(Section("flaky", "Failed processes", lead, said))
    if len(review.lost) > len(review.broken) or review.sides.left_out:
        lead = "Of these there are no numbers of both commits that could be compared."
        said = tuple(f"{entry.name}: {entry.reason}" for entry in review.sides.left_out)
        table = _lost_table(review, is_worse=False)
        tables = (table,) if table.rows else ()
        made.append(Section("missing", "Not compared", lead, said, tables=tables))
    if review.sides.skipped:
        said = tuple(f"{item.path}: {item.reason}" for item in review.sides.skipped)
        made.append(Section("set-aside", "Files set aside", "", said))
    return made


def _program_diffs(review: Review, cause: Cause) -> tuple[tuple[str, str], ...]:
    """In what the programs of the cause's cases differ, where that is known."""
    if cause.kind != "program":
        return ()
    known = review.sides.programs
    cases = dict.fromkeys(f.case for f in cause.findings if f.case in known)
    return tuple((f"In what the programs of {case} differ", known[case]) for case in cases)


def _untested(review: Review) -> tuple[str, ...]:
    apart = sum(finding.verdict == "apart" for finding in review.untested)
    few = len(review.untested) - apart
    said = []
    if apart:
        said.append(
            f"{apart} could not be tested: BASE and HEAD were measured apart, so the machine's "
            "mood may explain any difference; python -m benchmarks.measuring.pair measures them "
            "in turns."
        )
    if few:
        said.append(
            f"{few} have fewer than {MIN_ROUNDS_COUNT} rounds side by side, too few to tell."
        )
    return tuple(said)


def cause_name(index: int, cause: Cause) -> str:
    return f"{cause.kind}-{index}"


def findings_table(findings: Sequence[Finding], name: str, caption: str) -> Table:
    """One row for each finding."""
    titles = (("Case", True), ("Metric", True), ("Base", False), ("Head", False))
    titles += (("Change", False), ("Verdict", True))
    columns = tuple(Column(text, lambda frame: [], is_text=is_text) for text, is_text in titles)
    return Table(name, caption, columns, tuple(_row(finding) for finding in findings))


def _row(finding: Finding) -> tuple[Cell, ...]:
    verdict = finding.verdict
    tone = {"worse": "bad", "better": "good"}.get(verdict, "")
    gated = " (gated)" if verdict == "worse" and finding.is_gated else ""
    # Of a time that differs the interval says all; what is exact has its reason.
    is_told = finding.note and not (finding.is_tested and verdict in ("worse", "better"))
    note = f": {finding.note}" if is_told else ""
    return (
        Cell(finding.case, order=finding.case),
        Cell(finding.metric.title, order=finding.metric.title),
        *(_number(finding, value) for value in (finding.base, finding.head)),
        Cell(change(finding), note=_interval(finding), order=finding.ratio, tone=tone),
        Cell(f"{verdict}{gated}{note}", order=verdict),
    )


def _number(finding: Finding, value: float) -> Cell:
    """The number; of a commit that has none, a dash, though an error may be no number itself."""
    if math.isnan(value) and (finding.only_at or finding.metric.kind != "error"):
        return Cell(MISSING, order=-math.inf)
    return Cell(TELL[finding.metric.unit](value), exact=repr(value), order=value)


def change(finding: Finding) -> str:
    """Head over base, or the difference where a ratio would round to one."""
    base, head = finding.base, finding.head
    if finding.only_at:
        return f"only at {finding.only_at}"
    if head == base:
        return "="
    if base and (finding.metric.kind != "exact" or abs(finding.ratio - 1) >= 0.005):
        return f"{significant(finding.ratio)}×"
    told = TELL[finding.metric.unit](abs(head - base))
    return f"+{told}" if head > base else f"−{told}"


def _interval(finding: Finding) -> str:
    if not finding.is_tested:
        return ""
    return f"{significant(finding.low)}–{significant(finding.high)}"


def _lost_table(review: Review, *, is_worse: bool) -> Table:
    titles = ("Case", "Why")
    columns = tuple(Column(text, lambda frame: [], is_text=True) for text in titles)
    rows = tuple(
        (Cell(entry.case, order=entry.case), Cell(entry.reason, order=entry.reason))
        for entry in review.lost
        if entry.is_worse == is_worse
    )
    name = "broken" if is_worse else "missing"
    return Table(name, "Cases that cannot be compared", columns, rows)
