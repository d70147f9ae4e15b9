"""Pages from templates: styles and scripts inside, nothing loaded from elsewhere."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

TEMPLATES = Path(__file__).parent / "templates"


def written_page(
    template: str, *, styles: Sequence[str], scripts: Sequence[str], **values: Any
) -> str:
    """The template's page; `style` and `script` in it are the named files, one after another.

    Every other value is escaped where it is no markup already.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=False,
    )
    return environment.get_template(template).render(
        style=Markup("".join(map(asset, styles))),
        script=Markup("".join(map(asset, scripts))),
        **values,
    )


def asset(name: str) -> str:
    """The text of a file beside the templates."""
    return (TEMPLATES / name).read_text(encoding="utf-8")
