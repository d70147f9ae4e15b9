"""Reading protocol buffers without their schema: fields by number.

The numbers never change, and this way truncated files show, which the C++ parsers of traces take
in part. Encoding: protobuf.dev/programming-guides/encoding.
"""

from __future__ import annotations

from collections.abc import Iterator


def fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Number and value of each field: an integer, or the bytes of anything else.

    Raises
    ------
    ValueError
        If the bytes end within a field or are no protocol buffer.
    """
    at, end = 0, len(data)
    while at < end:
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(data, at)
            yield key >> 3, value
            continue
        if kind == 2:
            length, at = _varint(data, at)
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
        else:
            raise ValueError(f"wire type {kind} at byte {at}")
        if at + length > end:
            raise ValueError(f"{end - at} of {length} bytes are there at byte {at}")
        yield key >> 3, data[at : at + length]
        at += length


def parts(data: memoryview, number: int) -> Iterator[memoryview]:
    """The bytes of every field of that number."""
    for found, value in fields(data):
        if found == number and isinstance(value, memoryview):
            yield value


def text(data: memoryview, number: int) -> str:
    """The first field of that number as text; empty if there is none."""
    return next((bytes(value).decode("utf-8", "replace") for value in parts(data, number)), "")


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError(f"a number ends beyond byte {at}")
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
