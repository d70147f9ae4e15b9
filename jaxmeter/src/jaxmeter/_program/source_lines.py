"""Read the source lines of instructions in HLO text."""

import functools
import re
from collections.abc import Iterator

# Before JAX 0.8, source lines are in the metadata. Since then, they are in tables before the
# computations.
_SOURCE = re.compile(r'source_file="([^"]*)"(?: source_line=(\d+))?')
_FRAME = re.compile(r"stack_frame_id=(\d{1,18})\b")
TABLES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")
_FIELD = re.compile(r"(\w+)=(\d{1,18})\b")
_STACK_LINES_COUNT_LIMIT = 100  # JAX gives ten lines by default
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)")


class SourceLines:
    """The tables of source lines in the text of an HLO module."""

    def __init__(self) -> None:
        self.tables: dict[str, dict[int, str]] = {name: {} for name in TABLES}
        self._stacks: dict[int, tuple[str, ...]] = {}

    def stack(self, metadata: str) -> tuple[str, ...]:
        """Return the source lines of the calls that led to an instruction with this metadata, the
        innermost call first; empty if no line is known."""
        direct = _SOURCE.search(metadata)
        if direct is not None:
            return (unescaped(f"{direct[1]}:{direct[2] or 0}"),)
        frame = int(first(_FRAME, metadata) or 0)
        if frame not in self._stacks:
            self._stacks[frame] = tuple(self._calls(frame))
        return self._stacks[frame]

    def _calls(self, frame: int) -> Iterator[str]:
        for _ in range(_STACK_LINES_COUNT_LIMIT):
            fields = _fields(self.tables["StackFrames"].get(frame, ""))
            place = _fields(self.tables["FileLocations"].get(fields.get("file_location_id", 0), ""))
            file = self.tables["FileNames"].get(place.get("file_name_id", 0), "").strip('"')
            if not file:
                return
            yield unescaped(f"{file}:{place.get('line', 0)}")
            parent = fields.get("parent_frame_id", 0) - self._offset
            if not 0 < parent < frame:  # a frame comes after its caller
                return
            frame = parent

    @functools.cached_property
    def _offset(self) -> int:
        """1 if the table has the number of a frame's caller plus one, as XLA writes it; else 0. The
        first frame has no caller, so a frame that names itself shows that one was added."""
        frames = self.tables["StackFrames"].items()
        return int(any(_fields(text).get("parent_frame_id") == frame for frame, text in frames))


def _fields(text: str) -> dict[str, int]:
    return {name: int(number) for name, number in _FIELD.findall(text)}


def first(pattern: re.Pattern[str], text: str) -> str:
    """Return the first group of the first match; empty if nothing matches."""
    match = pattern.search(text)
    return "" if match is None else match[1]


def unescaped(text: str) -> str:
    """Return a text without XLA's escapes: a backslash before a quotation mark, and three octal
    digits for each byte of a character that is not ASCII."""
    escaped = _ESCAPE.sub(
        lambda match: bytes([int(match[1], 8) & 255]) if len(match[1]) == 3 else match[1],
        text.encode(errors="replace"),
    )
    return escaped.decode(errors="replace")
