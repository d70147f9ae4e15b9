"""Write each page as one HTML file that contains its styles, scripts and figures."""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from .section import Document
from .svg import Drawing

TEMPLATES = Path(__file__).parent / "templates"
POLICY = (
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
    "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">"
)
"""The line of HTML that forbids a page to load other files. A file with this line is taken for an
earlier page, which may be replaced."""


def html_page(document: Document) -> str:
    """Return the document as one HTML page that loads no other file."""
    return rendered(
        "page.html.jinja",
        styles=("theme.css", "page.css"),
        scripts=("page.js",),
        document=document,
        legend_mark=lambda css: Markup(_legend_mark(css)),
    )


def rendered(template: str, *, styles: Sequence[str], scripts: Sequence[str], **values: Any) -> str:
    """Return the template, filled with `values` and the contents of the styles and scripts.

    The values are escaped unless they are markup already.
    """
    style, script = (Markup("".join(map(asset, names))) for names in (styles, scripts))
    given = {"policy": Markup(POLICY), "style": style, "script": script}
    return _environment().get_template(template).render(given, **values)


def is_page(path: Path) -> bool:
    """Return whether a file is a page that was made by `rendered`."""
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return POLICY.encode() in stream.read(1000)


@functools.cache
def _environment() -> jinja2.Environment:
    """Return one Jinja environment for all pages, so that each template is compiled only once."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )


def asset(name: str) -> str:
    """Return the text of a file in the folder of templates."""
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _legend_mark(css: str) -> str:
    """Return the SVG of a mark such as `series-0 circle`, or of the line `limit`."""
    if css == "limit":
        line = '<line x1="0" y1="7" x2="26" y2="7" class="limit"/>'
        return f'<svg class="panel" style="width:26px" viewBox="0 0 26 14">{line}</svg>'
    series, shape = css.split()
    drawing = Drawing("", "", 14, 14)
    drawing.mark(shape, 7, 7, f"mark {series}", r=5)
    inner = "".join(drawing.parts)
    return f'<svg class="panel" style="width:14px" viewBox="0 0 14 14">{inner}</svg>'
