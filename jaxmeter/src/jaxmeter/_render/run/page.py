"""Write the compiles of a whole program as one page of HTML, without references to other files."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape

from jaxmeter._records.run import STAGES, Line, RunCompile, RunProcess, WatchedRun
from jaxmeter._render.compile import compile_sheet
from jaxmeter._render.html import sheet_html
from jaxmeter._render.run.style import PAGE
from jaxmeter._render.run.text import cache_text, captured_text, headline, notes
from jaxmeter._render.sheet import capital
from jaxmeter._render.units import count_text, place_text, seconds_text

_ROWS_COUNT = 500
_LEAST_SHARE = 0.0005
"""The minimum width of a box in the timeline, as a share of the width of the timeline."""
_OPEN_SHARE = 0.1
_NO_PROFILES = (
    "No function was profiled. To profile the three slowest functions of each process, run "
    "jaxmeter watch --profile 3."
)


def run_page(run: WatchedRun) -> str:
    """Return the HTML page: totals, avoidable time, timelines, tree of stacks, compiles, profiles
    and processes."""
    slowest = sorted(run.compiles, key=lambda one: -one.own_seconds)
    more = len(slowest) - _ROWS_COUNT
    return PAGE.format(
        title=escape(f"Compiles of {shlex.join(run.command)[:100]}"),
        command=escape(shlex.join(run.command)),
        headline=escape(capital(headline(run))),
        started=escape(run.started_utc),
        numbers="".join(_numbers(run)),
        notes="".join(f"<li>{escape(capital(note))}.</li>" for note in notes(run)),
        savings="".join(_savings(run)) or "<tr><td>No avoidable time was found.</td></tr>",
        timelines="".join(_timeline(run, p) for p in run.processes if p.jax),
        tree=_branches(_tree(run), sum(one.own_seconds for one in run.compiles)),
        profiles="".join(sheet_html(compile_sheet(profile)) for profile in run.profiles)
        or f"<p>{_NO_PROFILES}</p>",
        rows="".join(map(_row, slowest[:_ROWS_COUNT])),
        more=escape(f"{more} faster compiles are only in the JSON file." if more > 0 else ""),
        processes="".join(map(_process, run.processes)),
    )


def _numbers(run: WatchedRun) -> Iterator[str]:
    stages = {stage: sum(one.stage_seconds(stage) for one in run.compiles) for stage in STAGES}
    values = {
        "the whole run": seconds_text(run.seconds),
        "in compiles": seconds_text(run.busy_seconds),
        **{stage: seconds_text(seconds) for stage, seconds in stages.items()},
        "programs compiled": str(run.compiles_count),
        "from the persistent cache": str(run.cache_hits_count),
        "compiled again": seconds_text(run.avoidable_seconds),
    }
    for name, value in values.items():
        yield f"<div><b>{escape(value or '0')}</b>{escape(name)}</div>"


def _savings(run: WatchedRun) -> Iterator[str]:
    for one in run.savings:
        cells = {
            "time": seconds_text(one.seconds),
            "compiles": str(one.compiles_count),
            "kind": one.kind,
            "cause": one.what,
            "what to do": one.suggestion,
        }
        yield _cells(cells)


def _timeline(run: WatchedRun, process: RunProcess) -> str:
    boxes = []
    for one in run.compiles:
        if one.process != process.number:
            continue
        for part in one.intervals:
            start = max(part.start_seconds, 0.0) / run.seconds
            share = max((part.end_seconds - part.start_seconds) / run.seconds, _LEAST_SHARE)
            kind = "hit" if one.cache == "hit" and part.stage == "compile" else part.stage
            length = seconds_text(part.end_seconds - part.start_seconds)
            boxes.append(
                f'<rect class="{kind}" x="{1000 * start:.2f}" width="{1000 * share:.2f}" y="0" '
                f'height="24"><title>{escape(f"{one.id}: {part.stage} {length}")}</title></rect>'
            )
    name = f"process {process.number}, pid {process.pid}"
    start, end = (time / run.seconds for time in (process.start_seconds, process.end_seconds))
    return (
        f"<figure><figcaption>{escape(name)}</figcaption>"
        f'<svg viewBox="0 0 1000 24" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(name)}"><rect class="life" x="{1000 * start:.2f}" '
        f'width="{1000 * max(end - start, 0.0):.2f}" y="0" height="24"/>'
        f'{"".join(boxes)}</svg><div class="axis"><span>0 s</span>'
        f"<span>{escape(seconds_text(run.seconds))}</span></div></figure>"
    )


@dataclass
class _Node:
    """A node in the tree of call stacks: a source line, and the compiles that it led to. The root
    has no line."""

    line: Line | None = None
    seconds: float = 0.0
    compiles: list[RunCompile] = field(default_factory=list)
    """The compiles with this line as the innermost line of their stack."""
    inside: dict[Line, _Node] = field(default_factory=dict)
    count: int = 0


def _tree(run: WatchedRun) -> _Node:
    root = _Node()
    for one in run.compiles:
        node = root
        for line in reversed(one.stack):
            node = node.inside.setdefault(line, _Node(line))
            node.seconds += one.own_seconds
            node.count += one.cache != ""
        node.compiles.append(one)
    return root


def _branches(node: _Node, total: float) -> str:
    parts = []
    for inner in sorted(node.inside.values(), key=lambda inner: -inner.seconds):
        lines = [inner]
        while len(lines[-1].inside) == 1 and not lines[-1].compiles:
            lines += lines[-1].inside.values()  # a chain of single calls is one step
        last = lines[-1]
        label = "<br>".join(_line(step.line) for step in lines if step.line is not None)
        share = inner.seconds / total if total else 0.0
        opened = " open" if share >= _OPEN_SHARE else ""
        parts.append(
            f"<details{opened}><summary><b>{escape(seconds_text(inner.seconds))}</b> "
            f"<i>{100 * share:.0f} %, {count_text(inner.count, 'compile')}</i>"
            f'<span class="lines">{label}</span></summary>{_branches(last, total)}</details>'
        )
    if node.compiles:
        listed = sorted(node.compiles, key=lambda one: -one.own_seconds)
        items = [
            f"<li><b>{escape(seconds_text(one.own_seconds))}</b> <code>{escape(one.id)}</code> "
            f"{escape(one.reason)}</li>"
            for one in listed[:20]
        ]
        if len(listed) > len(items):
            items.append(f"<li>and {len(listed) - len(items)} more</li>")
        parts.append(f"<ul>{''.join(items)}</ul>")
    return "".join(parts)


def _line(line: Line) -> str:
    place = f"{place_text(line.source)} in {line.function}"
    return f"<code{' class=library' * line.is_library}>{escape(place)}</code>"


def _row(one: RunCompile) -> str:
    stack = "<br>".join(map(_line, one.stack))
    author = "" if one.author is None else place_text(one.author.source)
    defined = f"defined at {place_text(one.defined)}" if one.defined else ""
    size = "" if one.equations_count is None else f"{one.equations_count:,}"
    cells = {
        "id": f"<details><summary><code>{escape(one.id)}</code></summary>"
        f"{escape(defined)}<br>{stack}</details>",
        "line": f"<code>{escape(author)}</code>",
        "cause": escape(one.reason),
        "all": _number(one.own_seconds),
        **{stage: _number(one.stage_seconds(stage)) for stage in STAGES},
        "equations": size,
        "captured": escape(captured_text(one)),
        "persistent cache": escape(cache_text(one)),
    }
    return _row_of(cells)


def _process(process: RunProcess) -> str:
    return _cells(
        {
            "process": f"{process.number}",
            "pid": f"{process.pid}, child of {process.parent}" + ", forked" * process.forked,
            "program": shlex.join(process.argv),
            "Python": f"{process.python}, {process.executable}",
            "JAX": process.jax or "not imported",
            "from": seconds_text(max(process.start_seconds, 0.0)),
            "to": seconds_text(process.end_seconds),
            "end": process.ending,
        }
    )


def _number(seconds: float) -> str:
    return f'<data value="{seconds:.6f}">{escape(seconds_text(seconds) if seconds else "")}</data>'


def _cells(cells: dict[str, str]) -> str:
    return _row_of({name: escape(value) for name, value in cells.items()})


def _row_of(cells: dict[str, str]) -> str:
    inside = (f'<td data-name="{name}">{value}</td>' for name, value in cells.items())
    return f"<tr>{''.join(inside)}</tr>"
