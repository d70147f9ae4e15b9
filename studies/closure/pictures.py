"""Make the picture of the closure study."""

from __future__ import annotations

import struct
import zlib

import jax
import numpy as np
from jaxtyping import UInt8

from benchmarks.workloads import coronagraph

# Black, violet, red, orange, pale yellow: brightness increases, also for colour-blind readers.
_COLOURS = ((0, 0, 4), (87, 16, 110), (188, 55, 84), (249, 142, 9), (252, 255, 164))
_ENLARGED = 3


def picture(size: int) -> bytes:
    """Return a frame of the coronagraph as a PNG; the colours show both faint and bright counts.

    The frame has `size` pixels a side, and the picture three times as many.
    """
    observation, key = coronagraph.observation(), jax.random.key(20)
    made = jax.jit(coronagraph.frame)(coronagraph.system(size), observation, key)
    counts = np.asarray(made.counts, float)[::-1]  # north is up
    shade = np.arcsinh(counts / np.percentile(counts, 60))
    levels = np.round(255 * shade / shade.max()).astype(np.uint8)
    return png(np.kron(levels, np.ones((_ENLARGED, _ENLARGED), np.uint8)))


def png(levels: UInt8[np.ndarray, "height width"]) -> bytes:
    """Return levels from 0 to 255 as a PNG with a palette of 256 colours.

    Source: W3C, Portable Network Graphics, second edition.
    """
    height, width = levels.shape
    place = np.linspace(0, len(_COLOURS) - 1, 256)
    channels = [np.interp(place, range(len(_COLOURS)), one) for one in np.array(_COLOURS).T]
    palette = np.stack(channels, axis=1).round().astype(np.uint8)
    rows = b"".join(b"\0" + row.tobytes() for row in levels)
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        (b"PLTE", palette.tobytes()),
        (b"IDAT", zlib.compress(rows, 9)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in chunks)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
