"""Pages as HTML: styles, scripts and figures inside, nothing loaded from elsewhere."""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from .section import Document
from .svg import Drawing

TEMPLATES = Path(__file__).parent / "templates"


def html_page(document: Document) -> str:
    """Return the document as one page."""
    return rendered(
        "page.html.jinja",
        styles=("theme.css", "page.css"),
        scripts=("page.js",),
        document=document,
        legend_mark=lambda css: Markup(_legend_mark(css)),
    )


def rendered(template: str, *, styles: Sequence[str], scripts: Sequence[str], **values: Any) -> str:
    """Fill the template; `style` and `script` in it are the named files, one after another.

    All other values are escaped unless they are markup already.
    """
    style, script = (Markup("".join(map(asset, names))) for names in (styles, scripts))
    return _environment().get_template(template).render(style=style, script=script, **values)


@functools.cache
def _environment() -> jinja2.Environment:
    """One for all pages, so that a template is compiled once."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=False,
    )


def asset(name: str) -> str:
    """Return the text of a file of the templates' folder."""
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _legend_mark(css: str) -> str:
    """Draw the mark that `css` names, such as `key series-0 circle`."""
    if css == "limit-key":
        line = '<line x1="0" y1="7" x2="26" y2="7" class="limit"/>'
        return f'<svg class="panel" style="width:26px" viewBox="0 0 26 14">{line}</svg>'
    _, series, shape = css.split()
    drawing = Drawing("", "", 14, 14)
    drawing.mark(shape, 7, 7, f"mark {series}", r=5)
    inner = "".join(drawing.parts)
    return f'<svg class="panel" style="width:14px" viewBox="0 0 14 14">{inner}</svg>'
