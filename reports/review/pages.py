"""A review as a page and as Markdown, made of the same sections."""

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from ..display import Cell, Column, DisplayTable
from ..markdown import escaped, markdown_table
from ..page_template import write_whole, written_page
from ..report import Fact
from ..section import Section
from ..units import bytes_, scientific, seconds, significant
from .causes import Cause
from .data import review_json
from .figure import times_figure
from .findings import FEWEST_ROUNDS, PRIMARY, Finding
from .review import Review

MOST_ROWS = 24  # of a table in Markdown; the page has all
MOST_TEXTS = 2  # of a section in Markdown
TELL = {
    "seconds": seconds,
    "bytes": bytes_,
    "relative": scientific,
    "count": lambda value: f"{value:,.0f}".replace(",", "\u2009"),
}


def write_review(review: Review, out: str | Path) -> Path:
    """Write index.html, review.md and review.json, each whole or not at all; the page's path.

    Raises
    ------
    ReportError
        If `out` holds something else than an earlier review.
    """
    texts = {
        "review.json": review_json(review),
        "review.md": review_markdown(review),
        "index.html": review_page(review),
    }
    write_whole(out, texts, kind="review")
    return Path(out) / "index.html"


def title(review: Review) -> str:
    base, head = (_short(side.commit) for side in (review.sides.base, review.sides.head))
    return f"Review of {head} against {base}"


def _short(commit: str) -> str:
    """The beginning of a commit's name, with the regression that was planted into it, if any."""
    name, plus, planted = commit.partition("+")
    return f"{name[:10]}{plus}{planted}"


def review_page(review: Review) -> str:
    """The page as one string: nothing in it is loaded from elsewhere."""
    return written_page(
        "review.html.jinja",
        styles=("theme.css", "page.css"),
        scripts=("page.js",),
        title=title(review),
        verdict=review.verdict,
        failed=bool(review.exit_code),
        facts=facts(review),
        sections=sections(review),
        svg=lambda figure, index: Markup(figure.panels[index].render(f"{figure.name}-{index}")),
        legend_mark=lambda css: Markup(""),
    )


def review_markdown(review: Review) -> str:
    """The review for a pull request: verdict, causes, what was not compared; details folded."""
    lines = [f"### {title(review)}", ""]
    lines += [f"**{'Fails' if review.exit_code else 'Passes'}.** {escaped(review.verdict)}", ""]
    lines += [
        f"- {f.name}: {escaped(f.value)}{f' ({escaped(f.note)})' if f.note else ''}"
        for f in facts(review)
    ]
    quiet = {"times"} | {
        _cause_name(index, cause)
        for index, cause in enumerate(review.causes)
        if all(finding.verdict == "changed" for finding in cause.findings)
    }
    for section in sections(review):
        if section.name == "everything":
            continue  # the page has it
        is_folded = section.name in quiet
        head = f"{escaped(section.title)}. {escaped(section.lead)}".rstrip()
        lines += ["", f"<details><summary>{head}</summary>" if is_folded else f"#### {head}"]
        if section.findings:
            lines += ["", *(f"- {escaped(said)}" for said in section.findings)]
        for table in section.tables:
            lines += ["", markdown_table(_shortened(table))]
            if len(table.rows) > MOST_ROWS:
                lines += ["", f"{len(table.rows) - MOST_ROWS} more rows on the page."]
        if is_folded:
            lines += ["", "</details>"]
        for summary, text in section.texts[:MOST_TEXTS]:
            fence = "~" * (3 + text.count("~~~"))
            lines += ["", f"<details><summary>{escaped(summary)}</summary>"]
            lines += ["", fence, text.rstrip(), fence, "", "</details>"]
    return "\n".join(lines) + "\n"


def _shortened(table: DisplayTable) -> DisplayTable:
    return DisplayTable(table.name, table.caption, table.columns, table.rows[:MOST_ROWS])


def facts(review: Review) -> tuple[Fact, ...]:
    sides = review.sides
    rule = review.judging.rule
    gate = (
        "exact metrics, accuracy and times"
        if review.judging.gate_times
        else ("exact metrics and accuracy; times inform")
    )
    untested = len(review.untested)
    rounds = [f.rounds_count for f in review.findings if f.metric.name in PRIMARY and f.is_tested]
    told = "none tested"
    if rounds:
        few, many = min(rounds), max(rounds)
        told = f"{few}{f' to {many}' if many > few else ''} rounds side by side"
    return (
        Fact("Base", sides.base.commit[:12]),
        Fact("Head", sides.head.commit[:12]),
        Fact("Setting", sides.base.setting, "the only one compared"),
        Fact("Cells", f"{review.compared_count} compared", f"{len(review.lost)} not"),
        Fact("Gate", gate),
        Fact(
            "Times",
            f"{len(rounds)} tested, {untested} not",
            f"{told}; least effect {rule.minimum_effect:.0%}, false alarms in "
            f"{rule.significance:.0%} of reviews",
        ),
    )


def sections(review: Review) -> tuple[Section, ...]:
    """Broken cells, the causes, the tested times, what was not compared, everything."""
    made = []
    if review.broken:
        made.append(Section("broken", "Broken", "", tables=(_lost_table(review, is_worse=True),)))
    for index, cause in enumerate(review.causes):
        table = findings_table(cause.findings, f"cause-{index}", "What it changed")
        name = _cause_name(index, cause)
        texts = _program_diffs(review, cause)
        made.append(Section(name, cause.title, "", cause.evidence, tables=(table,), texts=texts))
    primary = [f for f in review.findings if f.metric.name in PRIMARY]
    tested = [finding for finding in primary if finding.is_tested]
    if primary:
        figures = (times_figure(tested, review.judging.rule),) if tested else ()
        lead = f"{len(tested)} tested, {len(review.slower)} longer, {len(review.faster)} shorter."
        said = _untested(primary)
        table = findings_table(primary, "times", "Building and settled runs of every cell")
        made.append(Section("times", "Times", lead, said, figures=figures, tables=(table,)))
    if len(review.lost) > len(review.broken):
        lead = "These cells have no numbers of both commits that could be compared."
        table = _lost_table(review, is_worse=False)
        made.append(Section("missing", "Not compared", lead, tables=(table,)))
    if review.sides.set_aside:
        said = tuple(f"{item.path}: {item.reason}" for item in review.sides.set_aside)
        made.append(Section("set-aside", "Files set aside", "", said))
    if review.findings:
        rest = findings_table(review.findings, "everything", "Every metric of every cell")
        lead = f"{len(review.findings)} numbers of {review.compared_count} cells."
        made.append(Section("everything", "Everything compared", lead, tables=(rest,)))
    return tuple(made)


def _program_diffs(review: Review, cause: Cause) -> tuple[tuple[str, str], ...]:
    """In what the programs of the cause's cells differ, where that is known."""
    if cause.kind != "program":
        return ()
    known = review.sides.programs
    cells = dict.fromkeys(f.cell for f in cause.findings if f.cell in known)
    return tuple((f"In what the programs of {cell} differ", known[cell]) for cell in cells)


def _untested(primary: Sequence[Finding]) -> tuple[str, ...]:
    apart = sum(finding.verdict == "apart" for finding in primary)
    few = sum(not finding.is_tested for finding in primary) - apart
    said = []
    if apart:
        said.append(
            f"{apart} could not be tested: BASE and HEAD were measured apart, so the machine's "
            "mood may explain any difference; python -m benchmarks.pair measures them in turns."
        )
    if few:
        said.append(f"{few} have fewer than {FEWEST_ROUNDS} rounds side by side, too few to tell.")
    return tuple(said)


def _cause_name(index: int, cause: Cause) -> str:
    return f"{cause.kind}-{index}"


def findings_table(findings: Sequence[Finding], name: str, caption: str) -> DisplayTable:
    """One row for each finding."""
    titles = (("Cell", True), ("Metric", True), ("Base", False), ("Head", False))
    titles += (("Change", False), ("Verdict", True))
    columns = tuple(Column(text, lambda frame: [], is_text=is_text) for text, is_text in titles)
    return DisplayTable(name, caption, columns, tuple(_row(finding) for finding in findings))


def _row(finding: Finding) -> tuple[Cell, ...]:
    tell = TELL[finding.metric.unit]
    verdict = finding.verdict
    tone = {"worse": "bad", "better": "good"}.get(verdict, "")
    gated = " (gated)" if verdict == "worse" and finding.is_gated else ""
    note = f": {finding.note}" if finding.note and verdict not in ("worse", "better") else ""
    return (
        Cell(finding.cell, order=finding.cell),
        Cell(finding.metric.title, order=finding.metric.title),
        *(Cell(tell(v), exact=repr(v), order=v) for v in (finding.base, finding.head)),
        Cell(change(finding), note=_interval(finding), order=finding.ratio, tone=tone),
        Cell(f"{verdict}{gated}{note}", order=verdict),
    )


def change(finding: Finding) -> str:
    """Head over base, or the difference where a ratio would round to one."""
    base, head = finding.base, finding.head
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


def _lost_table(review: Review, *, is_worse: bool) -> DisplayTable:
    titles = ("Cell", "Why")
    columns = tuple(Column(text, lambda frame: [], is_text=True) for text in titles)
    rows = tuple(
        (Cell(entry.cell, order=entry.cell), Cell(entry.reason, order=entry.reason))
        for entry in review.lost
        if entry.is_worse == is_worse
    )
    name = "broken" if is_worse else "missing"
    return DisplayTable(name, "Cells that cannot be compared", columns, rows)
