"""A review as Markdown that fits a comment on a pull request."""

import re
from collections.abc import Iterator

from ..document.markdown import escaped, escaped_html, markdown_table
from ..document.section import Section
from ..document.table import Table
from .review import Review
from .sections import cause_name, facts, sections, title

MOST_ROWS = 24  # of a table in Markdown; the page has all
MOST_TEXTS = 2  # of a section in Markdown
MOST_TEXT_CHARACTERS = 12_000  # of each
MOST_CHARACTERS = 60_000  # of all; GitHub takes 65536 in a comment, and whoever posts adds some


def review_markdown(review: Review) -> str:
    """The review for a pull request: verdict, causes, what was not compared; details folded.

    What does not fit is left to the page, whole parts of it, and that is said.
    """
    lines = [f"### {escaped(title(review))}", ""]
    lines += [f"**{review.outcome}.** {escaped(review.verdict)}", ""]
    lines += [
        f"- {f.name}: {escaped(f.value)}{f' ({escaped(f.note)})' if f.note else ''}"
        for f in facts(review)
    ]
    text, left = "\n".join(lines) + "\n", 0
    for part in _parts(review):
        if len(text) + len(part) > MOST_CHARACTERS:
            left += 1
        else:
            text += part
    if left:
        text += f"\nToo long for a comment: {left} further parts are on the page.\n"
    return text


def _parts(review: Review) -> Iterator[str]:
    """Parts that may be left out one by one."""
    quiet = {"times"} | {
        cause_name(index, cause)
        for index, cause in enumerate(review.causes)
        if all(finding.verdict == "changed" for finding in cause.findings)
    }
    for section in sections(review):
        if section.name != "everything":  # the page has it
            yield _told(section, is_folded=section.name in quiet)
            yield from (_folded_text(*text) for text in section.texts[:MOST_TEXTS])


def _told(section: Section, *, is_folded: bool) -> str:
    head = f"{section.title}. {section.lead}".rstrip()
    summary = f"<details><summary>{escaped_html(head)}</summary>"
    lines = ["", summary if is_folded else f"#### {escaped(head)}"]
    if section.findings:
        lines += ["", *(f"- {escaped(said)}" for said in section.findings[:MOST_ROWS])]
        lines += _more(len(section.findings), "lines")
    for table in section.tables:
        lines += ["", markdown_table(_shortened(table)), *_more(len(table.rows), "rows")]
    if is_folded:
        lines += ["", "</details>"]
    return "\n".join(lines) + "\n"


def _more(count: int, noun: str) -> list[str]:
    return ["", f"{count - MOST_ROWS} more {noun} on the page."] if count > MOST_ROWS else []


def _folded_text(summary: str, text: str) -> str:
    """The text as it is, cut to its share of the comment, in a fence that it cannot end."""
    shown, cut = text.rstrip(), ""
    if len(shown) > MOST_TEXT_CHARACTERS:
        cut = f"Cut here: {len(shown) - MOST_TEXT_CHARACTERS} more characters are on the page.\n\n"
        shown = shown[:MOST_TEXT_CHARACTERS]
    fence = "~" * max([3, *(len(run) + 1 for run in re.findall("~+", shown))])
    opened = f"<details><summary>{escaped_html(summary)}</summary>"
    return f"\n{opened}\n\n{fence}\n{shown}\n{fence}\n\n{cut}</details>\n"


def _shortened(table: Table) -> Table:
    return Table(table.name, table.caption, table.columns, table.rows[:MOST_ROWS])
