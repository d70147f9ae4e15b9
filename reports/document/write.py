"""Writes a report to its folder: the page, the same in Markdown, tables, figures."""

import os
import shutil
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from ..errors import ReportError
from ..report import Report
from .figure import Figure
from .html import asset, written_page
from .markdown import markdown_page
from .svg import Drawing


def write_report(report: Report, out: str | Path) -> Path:
    """Write index.html, report.md, tables/ and figures/ below `out`; return the page's path.

    Everything is written to a folder beside `out`, which then takes its place: a report that was
    interrupted never leaves half a page. Only a folder made by an earlier report is replaced.
    """
    out = Path(out)
    if out.exists() and not _is_earlier_report(out):
        raise ReportError(
            f"write_report: {out} exists and is no earlier report; name another folder with --out"
        )
    fresh = out.with_name(f".{out.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    (fresh / "tables").mkdir(parents=True)
    (fresh / "figures").mkdir()
    for name, frame in report.tables.items():
        _write_table(frame, fresh / "tables" / name)
    for section in report.sections:
        for figure in section.figures:
            for index, panel in enumerate(figure.panels):
                text = _standalone(figure, index, panel)
                (fresh / "figures" / figure_file(figure, index)).write_text(text, encoding="utf-8")
    (fresh / "report.md").write_text(markdown_page(report, figure_file), encoding="utf-8")
    (fresh / "index.html").write_text(html_page(report), encoding="utf-8")
    _take_place(fresh, out)
    return out / "index.html"


def html_page(report: Report) -> str:
    """The page as one string: styles, script and figures inside, nothing loaded from elsewhere."""
    return written_page(
        "page.html.jinja",
        styles=("theme.css", "page.css"),
        scripts=("page.js",),
        report=report,
        svg=lambda figure, index: Markup(figure.panels[index].render(f"{figure.name}-{index}")),
        legend_mark=lambda css: Markup(_legend_mark(css)),
    )


def figure_file(figure: Figure, index: int) -> str:
    return f"{figure.name}-{index}.svg"


def _standalone(figure: Figure, index: int, panel: Drawing) -> str:
    style = asset("theme.css") + "svg.panel { background: var(--paper); padding: 8px; }"
    return panel.render(f"{figure.name}-{index}", style=style)


def _legend_mark(css: str) -> str:
    """A small drawing of the mark that `css` names, such as `key series-0 circle`."""
    if css == "limit-key":
        line = '<line x1="0" y1="7" x2="26" y2="7" class="limit"/>'
        return f'<svg class="panel" style="width:26px" viewBox="0 0 26 14">{line}</svg>'
    _, series, shape = css.split()
    drawing = Drawing("", "", 14, 14)
    drawing.mark(shape, 7, 7, f"mark {series}", r=5)
    inner = "".join(drawing.parts)
    return f'<svg class="panel" style="width:14px" viewBox="0 0 14 14">{inner}</svg>'


def _write_table(frame: pd.DataFrame, path: Path) -> None:
    frame.to_csv(path.with_suffix(".csv"), index=False)
    # Columns that hold texts and missing values have no type of their own when all are missing.
    untyped = {name: "string" for name in frame.columns if frame[name].dtype == object}
    frame.astype(untyped).to_parquet(path.with_suffix(".parquet"), index=False)


def _is_earlier_report(out: Path) -> bool:
    return out.is_dir() and ((out / "index.html").exists() or not any(out.iterdir()))


def _take_place(fresh: Path, out: Path) -> None:
    old = out.with_name(f".{out.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if out.exists():
        os.replace(out, old)
    os.replace(fresh, out)
    shutil.rmtree(old, ignore_errors=True)
