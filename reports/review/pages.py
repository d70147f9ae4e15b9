"""A review as a folder: the page, its Markdown, its data."""

from pathlib import Path

from ..document.html import html_page
from ..document.section import Document
from ..document.write import write_whole
from .comment import review_markdown
from .data import review_json
from .review import Review
from .sections import facts, sections, title

INTERVALS = (
    "An interval is that of jaxmeter's comparison of times: one ratio a round, Student's t of "
    "their logarithms, p-values corrected by Holm over all cases."
)


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


def review_page(review: Review) -> str:
    """Return the page as one string: nothing in it is loaded from elsewhere."""
    return html_page(
        Document(
            title(review),
            facts(review),
            sections(review),
            footer=(INTERVALS,),
            outcome=review.outcome,
            verdict=review.verdict,
            is_bad=bool(review.exit_code),
        )
    )
