"""Check that a trace file is complete, and read the HLO of its programs.

`jax.profiler.ProfileData` returns only events. The HLO is not stored in events, but in the event
metadata of the plane ``/host:metadata``. Older versions of JAX read a part of a truncated file
without an error. They abort the process if the file is not a trace.

The layout of a trace file is defined in tsl's ``xplane.proto``. A file contains one space. A space
has planes (field 1). A plane has a name (field 2), lines (field 3) and event metadata (field 4).
The field numbers never change. protobuf.dev/programming-guides/encoding describes the encoding.
"""

from __future__ import annotations

import importlib
import itertools
import mmap
from collections.abc import Iterator
from pathlib import Path

from jaxmeter._records.files import check_file, file_errors
from jaxmeter.errors import JaxmeterError

TRACE_BYTES = 2**30
"""The maximum size of a trace file: 1 GiB."""
MOST_EVENTS_COUNT = 10_000_000
_COUNTED_BYTES = 2**24  # smaller files cannot have too many events


def check_whole(path: Path) -> None:
    """Raise a `JaxmeterError` if a file is not a whole trace, or has too many bytes or events."""
    with file_errors("trace", path, "give a trace file"):
        check_file(path, TRACE_BYTES)
        try:
            space = _mapped(path)
            planes = [sum(1 for _ in _fields(plane)) for plane in _parts(space, 1)]
            events = _events_count(space) if len(space) > _COUNTED_BYTES else 0
        except ValueError as error:
            raise JaxmeterError(
                f"trace: got {str(path)!r}, which is truncated or not a trace ({error}); trace "
                "again, and let the program reach the end of the jax.profiler.trace block"
            ) from None
    if not planes:
        raise JaxmeterError(
            f"trace: got {str(path)!r}, which has no planes of events; trace again, and check that "
            "the program is not killed"
        )
    # An event may take only two bytes, so a limit on the size of the file is not enough.
    if events > MOST_EVENTS_COUNT:
        raise JaxmeterError(
            f"trace: got {str(path)!r}, which has more than {MOST_EVENTS_COUNT:,} events; trace "
            "fewer runs"
        )


def _events_count(space: memoryview) -> int:
    """Return the number of events in a trace; stop counting above `MOST_EVENTS_COUNT`."""
    events = (
        event
        for plane in _parts(space, 1)
        for line in _parts(plane, 3)
        for event in _parts(line, 4)
    )
    return sum(1 for _ in itertools.islice(events, MOST_EVENTS_COUNT + 1))


def programs(path: Path, wanted: set[str]) -> dict[str, str]:
    """Return the HLO text of each wanted program in a trace, by name, such as ``jit_f(30)``.

    A program is left out if the trace does not contain its HLO. The text is empty if this version
    of jaxlib cannot convert the HLO to text.
    """
    return {
        name: _hlo_text(bytes(module))
        for plane in _parts(_mapped(path), 1)
        if _text(plane, 2) == "/host:metadata"
        for entry in _parts(plane, 4)
        for metadata in _parts(entry, 2)
        if (name := _text(metadata, 2)) in wanted
        for stat in _parts(metadata, 5)
        for proto in _parts(stat, 6)
        for module in _parts(proto, 1)
    }


def _hlo_text(module: bytes) -> str:
    """Return the text of a serialized HLO module; empty if this jaxlib cannot convert it."""
    for name in ("jaxlib._hlo", "jaxlib._jax"):  # older versions of jaxlib have only the second
        try:
            kind = importlib.import_module(name).HloModule
            return kind.from_serialized_hlo_module_proto(module).to_string()
        except Exception:  # no such class, or not HLO; the error's type is not documented
            continue
    return ""


def _mapped(path: Path) -> memoryview:
    with open(path, "rb") as stream:
        return memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))


def _fields(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield the number and the bytes of each field of a protobuf message.

    Raise a ValueError if the message is truncated or malformed.
    """
    at, end = 0, len(data)
    while at < end:
        key, at = _varint(data, at)
        kind, value = key & 7, at
        if kind == 0:
            _, at = _varint(data, at)
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        elif kind == 2:
            length, value = _varint(data, at)
            at = value + length
        else:
            raise ValueError(f"unknown wire type {kind} at byte {at}")
        if at > end:
            left = end - value
            raise ValueError(
                f"the field at byte {value} needs {at - value} bytes, but {left} are left"
            )
        yield key >> 3, data[value:at]


def _parts(data: memoryview, number: int) -> Iterator[memoryview]:
    return (value for found, value in _fields(data) if found == number)


def _text(data: memoryview, number: int) -> str:
    """Return the text of the first field with this number; empty if there is no such field."""
    return next((bytes(value).decode("utf-8", "replace") for value in _parts(data, number)), "")


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError(f"the number before byte {at} is truncated or too long")
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
