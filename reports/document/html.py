"""Pages from templates: styles and scripts inside, nothing loaded from elsewhere."""

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from ..errors import ReportError
from ..whole_files import draft_of, is_draft

TEMPLATES = Path(__file__).parent / "templates"


def written_page(
    template: str, *, styles: Sequence[str], scripts: Sequence[str], **values: Any
) -> str:
    """The template's page; `style` and `script` in it are the named files, one after another.

    Every other value is escaped where it is no markup already.
    """
    return (
        _environment()
        .get_template(template)
        .render(
            style=Markup("".join(map(asset, styles))),
            script=Markup("".join(map(asset, scripts))),
            **values,
        )
    )


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
    """The text of a file beside the templates."""
    return (TEMPLATES / name).read_text(encoding="utf-8")


def write_whole(
    out: str | Path, texts: Mapping[str, str], *, kind: str, beside: Sequence[str] = ()
) -> None:
    """Write `texts`, by file name, into the folder `out`, each whole or not at all.

    The first of them is the sign of an earlier writing, so that one killed halfway, which leaves
    the first few or a draft, never stands in the way of the next.

    Parameters
    ----------
    kind : str
        What the folder is, for the error.
    beside : sequence of str
        Other names that may stand there.

    Raises
    ------
    ReportError
        If `out` holds something else.
    """
    out = Path(out)
    held = {path.name for path in out.iterdir()} if out.exists() else set()
    others = {name for name in held if not is_draft(name, texts)} - set(beside)
    if others and next(iter(texts)) not in others:
        raise ReportError(
            f"write_{kind}: {out} exists and is no earlier {kind}; name another folder with --out"
        )
    out.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        with draft_of(out / name, text.encode("utf-8")) as draft:
            draft.replace(out / name)
