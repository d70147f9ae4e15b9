"""Write a review to a folder: a page, Markdown for a pull request, and JSON for programs."""

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..document.html import html_page
from ..document.markdown import escaped, escaped_html, fact_line, markdown_table
from ..document.section import Document, Section
from ..document.table import Table
from ..document.write import write_whole
from ..units import counted
from .causes import changed_lines
from .findings import REPORTED, Finding
from .judgements import judgements
from .sections import cause_name, facts, sections, title
from .verdict import Review

JSON_SCHEMA = 3  # version 3 added "regression", "improvement", "unpaired" and `environment`
MAX_ROWS = 24  # rows of a table in Markdown; the page has all rows
MAX_TEXTS = 2  # texts of a section in Markdown
MAX_TEXT_CHARACTERS = 12_000  # characters of each text in Markdown
MAX_CHARACTERS = 60_000  # of the Markdown; with its header, a comment on GitHub can have 65536
FOOTER = (
    "Each round gives one ratio of times. Intervals are from Student's t distribution, for the "
    "trimmed, weighted mean of the logarithms of these ratios. The p-values of times that are "
    "tested together are corrected by Holm's method."
)


def write_review(review: Review, out: str | Path) -> Path:
    """Write index.html, review.md and review.json below `out`; return the path of the page."""
    texts = {
        "review.json": review_json(review),
        "review.md": review_markdown(review),
        "index.html": review_page(review),
    }
    return write_whole(out, texts, kind="review")


def review_page(review: Review) -> str:
    """Return the page as one string of HTML that loads no other file."""
    return html_page(
        Document(
            title(review),
            facts(review),
            tuple(sections(review)),
            footer=(FOOTER,),
            judgements=judgements(review),
            verdict=review.verdict,
        )
    )


def review_json(review: Review) -> str:
    """Return the review as strict JSON; numbers that are not finite are null."""
    causes = {id(f): cause.kind for cause in review.causes for f in cause.findings}
    commits = review.commits
    data = {
        "schema": JSON_SCHEMA,
        "base": commits.base.commit,
        "head": commits.head.commit,
        "environment": commits.environment,
        "judgements": {
            one.about.lower(): {"outcome": one.outcome, "reason": one.reason}
            for one in judgements(review)
        },
        "verdict": review.verdict,
        "exit_code": review.exit_code,
        "cases_count": review.compared_count,
        "tested_count": sum(finding.is_tested for finding in review.findings),
        "findings": [_finding(f, causes[id(f)]) for f in review.findings if f.verdict in REPORTED],
        "compile_lines": [
            {"case": case, **vars(line), "counts": list(line.counts)}
            for case, lines in changed_lines(commits, review.findings).items()
            for line in lines
        ],
        "not_compared": [
            vars(entry) | {"failure_kind": entry.failure_kind or None} for entry in review.lost
        ],
        "failed_processes": review.flaky,
        "left_out": [{"name": e.name, "reason": e.reason} for e in commits.left_out],
    }
    return json.dumps(data, indent=1, allow_nan=False) + "\n"


def _finding(finding: Finding, cause: str) -> dict[str, Any]:
    numbers = {name: getattr(finding, name) for name in ("base", "head", "low", "high")}
    return {
        "case": finding.case,
        "metric": finding.metric.name,
        "verdict": finding.verdict,
        "cause": cause,
        "note": finding.note,
        "only_at": finding.only_at or None,
        "is_gated": finding.is_gated,
        "rounds_count": finding.rounds_count,
        **{name: value if math.isfinite(value) else None for name, value in numbers.items()},
    }


def review_markdown(review: Review) -> str:
    """Return the review as Markdown for a pull request, without the section of all numbers.

    Parts that do not fit into a comment are left out and counted.
    """
    lines = [f"### {escaped(title(review))}", ""]
    for one in judgements(review):
        lines += [f"**{one.about}: {one.outcome}** – {escaped(one.reason)}", ""]
    lines += [escaped(review.verdict), "", *map(fact_line, facts(review))]
    text, left = "\n".join(lines) + "\n", 0
    for part in _parts(review):
        if len(text) + len(part) > MAX_CHARACTERS:
            left += 1
        else:
            text += part
    if left:
        text += f"\nToo long for a comment: {counted(left, 'further part')} on the page.\n"
    return text


def _parts(review: Review) -> Iterator[str]:
    """Yield the parts of the Markdown; each part can be left out."""
    folded = {"times"} | {
        cause_name(index, cause)
        for index, cause in enumerate(review.causes)
        if all(finding.verdict == "changed" for finding in cause.findings)
    }
    for section in sections(review):
        if section.name != "everything":  # only the page shows this section
            yield _section(section, is_folded=section.name in folded)
            yield from (_folded_text(*text) for text in section.texts[:MAX_TEXTS])


def _section(section: Section, *, is_folded: bool) -> str:
    head = f"{section.title}. {section.lead}".rstrip()
    summary = f"<details><summary>{escaped_html(head)}</summary>"
    lines = ["", summary if is_folded else f"#### {escaped(head)}"]
    if section.findings:
        lines += ["", *(f"- {escaped(line)}" for line in section.findings[:MAX_ROWS])]
        lines += _more(len(section.findings), "lines")
    for table in section.tables:
        shown = Table(table.name, table.caption, table.columns, table.rows[:MAX_ROWS])
        lines += ["", markdown_table(shown), *_more(len(table.rows), "rows")]
    if is_folded:
        lines += ["", "</details>"]
    return "\n".join(lines) + "\n"


def _more(count: int, noun: str) -> list[str]:
    return ["", f"{count - MAX_ROWS} more {noun} on the page."] if count > MAX_ROWS else []


def _folded_text(summary: str, text: str) -> str:
    """Return a collapsed code block with the text, cut to `MAX_TEXT_CHARACTERS`."""
    shown, cut = text.rstrip(), ""
    if len(shown) > MAX_TEXT_CHARACTERS:
        cut = f"Cut here: {len(shown) - MAX_TEXT_CHARACTERS} more characters are on the page.\n\n"
        shown = shown[:MAX_TEXT_CHARACTERS]
    fence = "~" * max([3, *(len(run) + 1 for run in re.findall("~+", shown))])
    opened = f"<details><summary>{escaped_html(summary)}</summary>"
    return f"\n{opened}\n\n{fence}\n{shown}\n{fence}\n\n{cut}</details>\n"
