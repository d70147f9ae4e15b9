"""Numbers, types and source lines as people read them."""

from __future__ import annotations

import os
import sys
from typing import Any


def seconds_text(seconds: float | None, digits: int = 3) -> str:
    """Return seconds with a fitting unit, rounded to this many digits; empty for None."""
    if seconds is None:
        return ""
    seconds = float(f"{seconds:.{digits}g}")
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1.0:
            return f"{seconds * factor:.{digits + 2}g} {unit}"
    return f"{seconds * 1e9:.{digits + 2}g} ns"


def bytes_text(size: float | None) -> str:
    """Return bytes with a unit, a power of 1000, from 10 kB on; empty for None."""
    if size is None:
        return ""
    if size < 10_000:
        return f"{size:.0f} B"
    for unit, factor in (("kB", 1e3), ("MB", 1e6)):
        if size < 1000 * factor:
            return f"{size / factor:.4g} {unit}"
    return f"{size / 1e9:.4g} GB"


def count_text(count: int, what: str) -> str:
    """Return a number of things: ``1 array``, ``2 arrays``."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def quantity_text(quantity: str, value: float) -> str:
    """Return a value in the unit that the name of its quantity ends in."""
    if quantity.endswith("seconds"):
        return seconds_text(value)
    return bytes_text(value) if quantity.endswith("bytes") else f"{value:,.0f}"


def type_text(array: Any) -> str:
    """Return the type of anything with a dtype and a shape: ``float32[64, 3]``."""
    return f"{array.dtype}[{', '.join(map(str, array.shape))}]"


def place_text(place: str) -> str:
    """Return ``file:line``, relative to the current directory if the file is below it.

    A line of a notebook's cell is named as the notebook numbers it: ``In [3]:7``.
    """
    if "ipykernel" in place and (cell := _cell_text(place)):
        return cell
    path = os.path.relpath(place) if os.path.isabs(place) else place
    return place if path.startswith("..") else path


def _cell_text(place: str) -> str | None:
    """Return the cell of a place in IPython's temporary files; None if it is in no cell."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    numbers = getattr(getattr(shell, "compile", None), "_filename_map", {})
    file, _, line = place.rpartition(":")
    return f"In [{numbers[file]}]:{line}" if file in numbers else None


def devices_notes(count: int | None) -> tuple[str, ...]:
    """Return a note that numbers are of one device, if a program runs on several."""
    if count is None or count < 2:
        return ()
    numbers = "flops, bytes accessed, arguments, outputs and temporaries"
    return (f"runs on {count} devices; {numbers} are per device",)
