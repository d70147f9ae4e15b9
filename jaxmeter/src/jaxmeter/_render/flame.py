"""Draw a compile profile as a flame graph, and write it for speedscope and Perfetto."""

from __future__ import annotations

import html
import json
import os
import re
import zlib
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain, groupby

from jaxmeter._records.compile import CompileProfile, CompileRow
from jaxmeter._render.units import place_text, seconds_text

_ROW_PIXELS = 18
_LEAST_SHARE = 1e-3
"""The width of the narrowest box that is drawn, as a share of the width of the drawing."""
_CHARACTER_SHARE = 0.0065
"""The width of a character, as a share of a drawing that is 1000 pixels wide."""
_HUES = {"trace": 210, "lower": 180, "HLO passes": 50, "constant folding": 0, "emit": 30}
_HUES |= {"LLVM": 15, "other": 300}

_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width">
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 14px/1.5 sans-serif; margin: 1rem; }}
svg {{ width: 100%; height: {height}px; }}
svg text {{ font: 11px monospace; pointer-events: none; fill: #111; }}
rect {{ stroke: Canvas; stroke-width: 0.5; }}
</style></head><body>
<h1>{title}</h1>
<p>{headline} The width of a box shows its time. The boxes below a box are its parts. From top to
bottom, the boxes show the stage, the calls down to the source line, the named scopes, the primitive
and the kernel. Point at a box to see its name and time.</p>
<svg role="img" aria-label="{title}">
{boxes}
</svg></body></html>
"""


def flame_graph(profile: CompileProfile) -> str:
    """Return a flame graph of a compile profile: an HTML page without references to other files."""
    stacks = stacked(profile)
    levels = [_boxes(stacks, level) for level in range(max(map(len, stacks), default=0))]
    boxes = "\n".join(chain.from_iterable(levels))
    title = html.escape(f"Compile profile of {profile.name}")
    headline = html.escape(
        f"Trace {seconds_text(profile.trace_seconds)}, lower "
        f"{seconds_text(profile.lower_seconds)}, compile {seconds_text(profile.compile_seconds)}, "
        f"JAX {profile.jax} on {profile.backend}."
    )
    height = sum(map(bool, levels)) * _ROW_PIXELS + 4  # the lowest levels may have no box
    return _PAGE.format(title=title, headline=headline, boxes=boxes, height=height)


def speedscope(profile: CompileProfile) -> str:
    """Return a compile profile as JSON that speedscope and Perfetto can open."""
    stacks = stacked(profile)
    names = dict.fromkeys(chain.from_iterable(stacks))
    numbers = {name: number for number, name in enumerate(names)}
    weights = list(stacks.values())
    frames = []
    for name in names:
        found = re.search(r"(\S+):(\d+)$", name)
        place = {"file": found[1], "line": int(found[2])} if found else {}
        frames.append({"name": name, **place})
    data = {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": "jaxmeter",
        "name": f"compile of {profile.name}",
        "shared": {"frames": frames},
        "profiles": [
            {
                "type": "sampled",
                "name": profile.name,
                "unit": "seconds",
                "startValue": 0,
                "endValue": sum(weights),
                "samples": [[numbers[name] for name in stack] for stack in stacks],
                "weights": weights,
            }
        ],
    }
    return json.dumps(data)


def stacked(profile: CompileProfile) -> dict[tuple[str, ...], float]:
    """Return the seconds of each stack of frames, sorted so that equal frames are neighbours.

    The frames are the stage, the calls down to the source line, the named scopes, the primitive and
    the kernel. The frame ``compile`` comes before every stage except ``trace`` and ``lower``.
    """
    found: dict[tuple[str, ...], float] = defaultdict(float)
    for row in profile.rows:
        if row.seconds > 0:
            found[tuple(_frames(profile, row))] += row.seconds
    return dict(sorted(found.items()))


def _frames(profile: CompileProfile, row: CompileRow) -> Iterator[str]:
    if row.stage not in ("trace", "lower"):
        yield "compile"
    yield row.stage
    yield from profile.stacks.get(row.source) or (row.source or "unattributed",)
    if row.scope:
        yield f"scope {row.scope}"
    yield from filter(None, (row.primitive, row.kernel))


def _boxes(stacks: dict[tuple[str, ...], float], level: int) -> list[str]:
    """Return the SVG boxes of one level of the graph, without boxes too narrow to be seen."""
    total = sum(stacks.values())
    boxes, left = [], 0.0
    for frames, group in groupby(stacks.items(), lambda item: item[0][: level + 1]):
        seconds = sum(spent for _, spent in group)
        share = seconds / total
        if len(frames) > level and share >= _LEAST_SHARE:
            boxes.append(_rectangle(frames, seconds, left, share))
        left += share
    return boxes


def _rectangle(frames: tuple[str, ...], seconds: float, left: float, share: float) -> str:
    name, top = frames[-1], (len(frames) - 1) * _ROW_PIXELS
    at = f'x="{100 * left:.3f}%" y="{top}"'
    stage = next((frame for frame in reversed(frames) if frame in _HUES), "")
    hue = (_HUES.get(stage, 120) + zlib.crc32(name.encode()) % 15) % 360
    shown = os.path.basename(name) if name.startswith("/") else name.rpartition("/")[2]
    room = int(share / _CHARACTER_SHARE)
    label = html.escape(shown if len(shown) <= room else f"{shown[: room - 2]}.." * (room > 4))
    full = html.escape(f"{_readable(name)}: {seconds_text(seconds)}, {100 * share:.1f} %")
    text = f'<text x="{100 * left + 0.15:.3f}%" y="{top + 13}">{label}</text>'
    return (
        f'<g><title>{full}</title><rect {at} width="{100 * share:.3f}%" height="{_ROW_PIXELS}" '
        f'fill="hsl({hue} 75% 72%)"/>{text if label else ""}</g>'
    )


def _readable(name: str) -> str:
    function, _, place = name.rpartition(" ")
    return f"{function} {place_text(place)}" if function and place.startswith("/") else name
