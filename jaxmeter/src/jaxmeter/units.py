"""Numbers as people read them."""

from __future__ import annotations


def seconds_text(seconds: float | None) -> str:
    """Seconds with the unit that suits them; empty for None."""
    if seconds is None:
        return ""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1.0:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def bytes_text(size: float | None) -> str:
    """Bytes, in powers of 1024 from 10 KiB on; empty for None."""
    if size is None:
        return ""
    if size < 10 * 1024:
        return f"{size:.0f} B"
    for unit, factor in (("KiB", 2**10), ("MiB", 2**20)):
        if size < 1024 * factor:
            return f"{size / factor:.4g} {unit}"
    return f"{size / 2**30:.4g} GiB"


def count_text(count: int, what: str) -> str:
    """A number of things: ``1 array``, ``2 arrays``."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
