"""Write pages into folders; files are moved into place only when they are complete."""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from jaxmeter import write_file

from ..errors import ReportError
from .html import asset, html_page, is_page
from .markdown import markdown_page
from .section import Document


def write_document(document: Document, tables: Mapping[str, pd.DataFrame], out: str | Path) -> Path:
    """Write index.html, report.md, tables/ and figures/ below `out`; return the page's path.

    Everything is written to a new folder next to `out`. The new folder then replaces `out`, or the
    folder to which the link `out` leads. If `out` is the working folder, its contents are replaced.
    """
    out = Path(out).resolve()
    _check_earlier(out, ["index.html"], kind="report")
    fresh = out.with_name(f".{out.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    (fresh / "tables").mkdir(parents=True)
    (fresh / "figures").mkdir()
    for name, frame in tables.items():
        _write_table(frame, fresh / "tables" / name)
    style = asset("theme.css") + "svg.panel { background: var(--paper); padding: 8px; }"
    for figure in (figure for section in document.sections for figure in section.figures):
        for index, panel in enumerate(figure.panels):
            name = f"{figure.name}-{index}"
            text = panel.render(name, style=style)
            (fresh / "figures" / f"{name}.svg").write_text(text, encoding="utf-8")
    (fresh / "report.md").write_text(markdown_page(document), encoding="utf-8")
    (fresh / "index.html").write_text(html_page(document), encoding="utf-8")
    _replace(out, fresh)
    return out / "index.html"


def _write_table(frame: pd.DataFrame, path: Path) -> None:
    frame.to_csv(path.with_suffix(".csv"), index=False)
    # Parquet would store a text column as a column without a type if all its values are missing.
    untyped = {name: "string" for name in frame.columns if frame[name].dtype == object}
    frame.astype(untyped).to_parquet(path.with_suffix(".parquet"), index=False)


def _replace(out: Path, fresh: Path) -> None:
    old = out.with_name(f".{out.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if out == Path.cwd():
        # The shell of the user stays in the working folder, so replace only its contents. Move the
        # page last from `out` and first into `out`, so that an interrupted run can be repeated.
        old.mkdir()
        for path in sorted(out.iterdir(), key=lambda path: path.name == "index.html"):
            os.replace(path, old / path.name)
        for path in sorted(fresh.iterdir(), key=lambda path: path.name != "index.html"):
            os.replace(path, out / path.name)
        fresh.rmdir()
    else:
        if out.exists():
            os.replace(out, old)
        os.replace(fresh, out)
    shutil.rmtree(old, ignore_errors=True)


def write_whole(
    out: str | Path, texts: Mapping[str, str], *, kind: str, beside: Sequence[str] = ()
) -> Path:
    """Write each file atomically into the folder `out`, and return the path of the page.

    `texts` maps file names to contents. An interrupted run can leave some complete files and a
    draft. The next run replaces the files and ignores the draft.
    """
    out = Path(out)
    _check_earlier(out, list(texts), kind=kind, beside=beside)
    out.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        write_file(out / name, text)
    return out / "index.html"


def _check_earlier(
    out: Path, names: Sequence[str], *, kind: str, beside: Sequence[str] = ()
) -> None:
    """Raise ReportError if `out` exists, but is not an earlier page of this kind.

    A folder that contains the first of the files `names` is treated as an earlier page, unless its
    index.html was made by another program. Any other folder may contain only the files and folders
    named in `beside`, and drafts, which are temporary files of an interrupted run.
    """
    beginnings = tuple(f"{name}." for name in names)
    held = {path.name for path in out.iterdir()} if out.is_dir() else set()
    drafts = {name for name in held if name.endswith(".tmp") and name.startswith(beginnings)}
    others = held - drafts - set(beside)
    is_foreign = "index.html" in others and not is_page(out / "index.html")
    if out.is_file() or is_foreign or (others and names[0] not in others):
        raise ReportError(
            f"write_{kind}: {out} exists and is not an earlier {kind}; name another folder "
            "with --out, or delete this folder"
        )
