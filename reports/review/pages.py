"""A review as a folder: the page, its Markdown, its data."""

from pathlib import Path

from markupsafe import Markup

from ..document.html import write_whole, written_page
from .comment import review_markdown
from .data import review_json
from .review import Review
from .sections import facts, sections, title


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
    """The page as one string: nothing in it is loaded from elsewhere."""
    return written_page(
        "review.html.jinja",
        styles=("theme.css", "page.css"),
        scripts=("page.js",),
        title=title(review),
        outcome=review.outcome,
        verdict=review.verdict,
        failed=bool(review.exit_code),
        facts=facts(review),
        sections=sections(review),
        svg=lambda figure, index: Markup(figure.panels[index].render(f"{figure.name}-{index}")),
        legend_mark=lambda css: Markup(""),
    )
