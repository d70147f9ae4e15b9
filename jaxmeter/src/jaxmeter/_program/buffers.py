"""The buffers of a program: the compiler's own assignment, with what computes each and where from.

XLA writes the assignment only to a folder, for one program without flags for the whole process.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import jax

from jaxmeter._program.hlo import Instruction, instructions
from jaxmeter._records.memory import Buffer

_ALLOCATION = re.compile(r"^allocation \d+: size \d+, (?P<kind>.*)$")
_VALUE = re.compile(
    r"^\s+value: <\d+ (?P<name>[\w.\-]+)(?:\{[\d,]*\})?(?P<phi> \(phi\))? @\d+> "
    r"\(size=(?P<size>\d+),offset=(?P<offset>\d+)\): (?P<shape>.*)$"
)
_LAYOUT = re.compile(r"\{[^{}]*\}")
_SMALL = ("parameter", "constant", "tuple", "get-tuple-element", "bitcast")

Kind = Literal["argument", "output", "temporary", "constant"]
Source = Literal["assignment", "instructions"]


def compiled_with_buffers(
    lowered: jax.stages.Lowered,
) -> tuple[jax.stages.Compiled, tuple[Buffer, ...], Source]:
    """Compile a program and find its buffers, the largest first.

    They are those of the compiler's assignment; where it writes none, what the instructions
    outside of fusions compute.
    """
    with tempfile.TemporaryDirectory(prefix="jaxmeter-") as folder:
        try:
            compiled = lowered.compile(compiler_options={"xla_dump_to": folder})
        except jax.errors.JaxRuntimeError:  # a backend that takes no such option
            compiled = lowered.compile()
        files = sorted(Path(folder).glob("*buffer-assignment.txt"))
        text = files[-1].read_text(errors="replace") if files else ""
    return compiled, *buffers_in(text, compiled.as_text() or "")


def buffers_in(assignment: str, hlo: str) -> tuple[tuple[Buffer, ...], Source]:
    """The buffers in the text of a compiler's assignment, the largest first, with what the text of
    the optimised HLO says of them; if there is no assignment, what the instructions compute."""
    known = {one.name: one for one in instructions(hlo)}
    found = tuple(_assigned(assignment, known))
    source: Source = "assignment" if found else "instructions"
    return _largest_first(found or _computed(known)), source


def _assigned(text: str, known: dict[str, Instruction]) -> Iterator[Buffer]:
    kind: Kind | None = None
    for line in text.splitlines():
        allocation = _ALLOCATION.match(line)
        if allocation is not None:
            kind = _kind(allocation["kind"])
            continue
        value = _VALUE.match(line)
        if value is None:
            if not line.startswith((" ", "\t")):
                kind = None  # the end of the allocations
            continue
        # A value that is one of several others, by control flow, lies where these do.
        if kind is None or value["phi"] or value["shape"].startswith("("):
            continue
        one = known.get(value["name"])
        yield Buffer(
            kind=kind,
            bytes=int(value["size"]),
            shape=_LAYOUT.sub("", value["shape"]),
            opcode="" if one is None else one.opcode,
            scope="" if one is None else one.scope,
            instruction=value["name"],
            offset_bytes=int(value["offset"]) if kind == "temporary" else None,
        )


def _kind(text: str) -> Kind | None:
    """Of an allocation; None for the scratch of a single operation."""
    if "parameter" in text and "maybe-live-out" not in text:
        return "argument"
    if "thread-local" in text:
        return None
    if "preallocated-temp" in text:
        return "temporary"
    if "constant" in text:
        return "constant"
    return "output" if "live-out" in text or "output" in text else "temporary"


def _computed(known: dict[str, Instruction]) -> Iterator[Buffer]:
    fused = {one.calls for one in known.values()} - {""}
    for one in known.values():
        if one.computation in fused:
            continue
        kinds: dict[str, Any] = {"parameter": "argument", "constant": "constant"}
        if one.opcode in kinds or one.opcode not in _SMALL:
            yield Buffer(
                kind=kinds.get(one.opcode, "temporary"),
                bytes=one.bytes,
                shape=one.shape,
                opcode=one.opcode,
                scope=one.scope,
                instruction=one.name,
                offset_bytes=None,
            )


def _largest_first(found: Any) -> tuple[Buffer, ...]:
    return tuple(sorted(found, key=lambda buffer: -buffer.bytes))
