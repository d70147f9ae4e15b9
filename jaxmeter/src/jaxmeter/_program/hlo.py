"""Reading the text of optimised HLO: instructions, with what they compute and where from."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator

_INSTRUCTION = re.compile(r"^\s+(?P<root>ROOT )?%?(?P<name>[\w.\-]+) = (?P<rest>.*)$")
_COMPUTATION = re.compile(r"^(?:ENTRY )?%?(?P<name>[\w.\-]+) \(.*\{$")
_OPCODE = re.compile(r"\s*(?P<opcode>[\w\-]+)\(")
_OP_NAME = re.compile(r'op_name="(?P<name>(?:[^"\\]|\\.)*)"')
_CALLS = re.compile(r"calls=%?(?P<name>[\w.\-]+)")
_KIND = re.compile(r"kind=(?P<kind>\w+)")
_LAYOUT = re.compile(r"\{[^{}]*\}|/\*.*?\*/")
_ARRAY = re.compile(r"(?P<dtype>[a-z]\w*)\[(?P<shape>[\d,<=\s]*)\]")
_WIDTH = re.compile(r"\d+")
_JIT = re.compile(r"^jit\([^()]*\)/")


@dataclasses.dataclass(frozen=True)
class Instruction:
    """One instruction of a program."""

    name: str
    opcode: str
    shape: str
    """Type and shape of what it computes, without layouts: ``f32[64,3]``."""
    computation: str
    """The computation it stands in."""
    scope: str
    """Where it comes from: ``layer/dot_general``, the outermost function left out."""
    calls: str
    """The computation of a fusion."""
    kind: str
    """Of a fusion: ``kLoop``."""

    @property
    def bytes(self) -> int:
        """The size of what it computes; arrays in tuples are counted, their pointers are not."""
        return sum(_array_bytes(match) for match in _ARRAY.finditer(self.shape))


def instructions(text: str) -> Iterator[Instruction]:
    """The instructions in the text of an HLO module, in order."""
    computation = ""
    for line in text.splitlines():
        begins = _COMPUTATION.match(line)
        if begins is not None:
            computation = begins["name"]
            continue
        match = _INSTRUCTION.match(line)
        if match is None or not computation:
            continue
        shape, rest = _split_shape(match["rest"])
        opcode = _OPCODE.match(rest)
        if opcode is None:
            continue
        scope, calls, kind = (found.search(rest) for found in (_OP_NAME, _CALLS, _KIND))
        yield Instruction(
            name=match["name"],
            opcode=opcode["opcode"],
            shape=_LAYOUT.sub("", shape),
            computation=computation,
            scope="" if scope is None else _JIT.sub("", scope["name"]),
            calls="" if calls is None else calls["name"],
            kind="" if kind is None else kind["kind"],
        )


def _split_shape(text: str) -> tuple[str, str]:
    """The type that a line begins with, which may be a tuple of types, and the rest."""
    if not text.startswith("("):
        shape, _, rest = text.partition(" ")
        return shape, rest
    depth = 0
    for index, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text[: index + 1], text[index + 1 :]
    return text, ""


def _array_bytes(match: re.Match[str]) -> int:
    dtype = match["dtype"]
    width = _WIDTH.search(dtype)
    if dtype in ("token", "opaque"):
        return 0
    # What is narrower than a byte takes one; pred has no width in its name.
    item = 1 if width is None else max(int(width.group()) // 8, 1)
    numbers = [int(number) for number in _WIDTH.findall(match["shape"])]
    return item * math.prod(numbers)
