"""Find the buffers of a program in XLA's buffer assignment, and the operation of each buffer.

XLA writes the buffer assignment only to a file. A compiler option sets the folder of this file. If
there is no buffer assignment, the results of the program's instructions are listed instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

import jax

from jaxmeter._measure.phases import no_persistent_cache
from jaxmeter._program.hlo import Instruction, instructions
from jaxmeter._records.files import TEXT_BYTES, read_file, temporary_folder
from jaxmeter._records.memory import Buffer

_ALLOCATION = re.compile(r"^allocation \d+: size (?P<size>\d{1,18}), (?P<kind>.*)$")
_VALUE = re.compile(
    r"^\s+value: <\d+ (?P<name>[\w.\-]+)(?:\{[\d,]*\})?(?P<phi> \(phi\))? @\d+> "
    r"\(size=(?P<size>\d{1,18}),offset=(?P<offset>\d{1,18})\): (?P<shape>.*)$"
)
_LAYOUT = re.compile(r"\{[^{}]*\}")
_WITHOUT_BUFFER = ("tuple", "get-tuple-element", "bitcast")

Kind = Literal["argument", "output", "temporary", "constant"]
Source = Literal["assignment", "instructions"]


def compiled_with_buffers(
    lowered: jax.stages.Lowered,
) -> tuple[jax.stages.Compiled, tuple[Buffer, ...], Source]:
    """Compile a program; return the compiled program and the results of `buffers_in`.

    The persistent cache is not used, because XLA writes no buffer assignment for a program from the
    cache.
    """
    with temporary_folder() as folder, no_persistent_cache():
        try:
            compiled = lowered.compile(compiler_options={"xla_dump_to": str(folder)})
        except jax.errors.JaxRuntimeError:  # a backend without this option
            compiled = lowered.compile()
        files = sorted(folder.glob("*buffer-assignment.txt"))
        text = read_file(files[-1], TEXT_BYTES).decode(errors="replace") if files else ""
    return compiled, *buffers_in(text, instructions(compiled.as_text() or ""))


def buffers_in(
    assignment: str, program: Iterable[Instruction]
) -> tuple[tuple[Buffer, ...], Source]:
    """Return the buffers of a program, the largest first, and where the buffers were found.

    The second result is ``"assignment"`` if XLA's buffer assignment contains buffers. Otherwise it
    is ``"instructions"``, and each buffer is the result of an instruction outside fusions. The
    instructions of the optimised ``program`` give the operation and scope of each buffer.
    """
    known = {instruction.name: instruction for instruction in program}
    found = list(_assigned(assignment, known))
    source: Source = "assignment" if found else "instructions"
    buffers = found or _computed(known)
    return tuple(sorted(buffers, key=lambda buffer: -buffer.bytes)), source


def allocated_bytes(assignment: str) -> dict[Kind, int]:
    """Return the bytes that a buffer assignment allocates for each kind of buffer."""
    sizes: dict[Kind, int] = {"argument": 0, "output": 0, "temporary": 0, "constant": 0}
    for match in filter(None, map(_ALLOCATION.match, assignment.splitlines())):
        kind = _kind(match["kind"])
        if kind is not None:
            sizes[kind] += int(match["size"])
    return sizes


def is_cut_off(assignment: str) -> bool:
    """Return whether the end of the allocations in a buffer assignment is missing. XLA writes the
    total size after the allocations; newer versions write the total to another file. If the text
    does not contain the total, only an incomplete last line shows that the end is missing."""
    allocations, found, total = assignment.partition("\nTotal bytes used: ")
    sizes = (
        int(match["size"]) for match in map(_ALLOCATION.match, allocations.split("\n")) if match
    )
    is_other = bool(found) and total.partition(" ")[0] != str(sum(sizes))
    return is_other or not allocations.endswith("\n")


def _assigned(text: str, known: Mapping[str, Instruction]) -> Iterator[Buffer]:
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
        # Control flow sets a phi value to one of several other values. Leave the phi value out,
        # because it shares the memory of these other values.
        if kind is None or value["phi"] or value["shape"].startswith("("):
            continue
        instruction = known.get(value["name"])
        yield Buffer(
            kind=kind,
            bytes=int(value["size"]),
            shape=_LAYOUT.sub("", value["shape"]),
            opcode="" if instruction is None else instruction.opcode,
            scope="" if instruction is None else instruction.op_name,
            instruction=value["name"],
            offset_bytes=int(value["offset"]) if kind == "temporary" else None,
        )


def _kind(text: str) -> Kind | None:
    """Return the kind of buffer that XLA's description of an allocation names; None for the
    thread-local memory of a single operation."""
    if "parameter" in text and "maybe-live-out" not in text:
        return "argument"
    if "thread-local" in text:
        return None
    if "preallocated-temp" in text:
        return "temporary"
    if "constant" in text:
        return "constant"
    return "output" if "live-out" in text or "output" in text else "temporary"


def _computed(known: Mapping[str, Instruction]) -> Iterator[Buffer]:
    kinds: dict[str, Kind] = {"parameter": "argument", "constant": "constant"}
    fused = {one.calls for one in known.values() if one.opcode in ("fusion", "async-start")}
    for instruction in known.values():
        if instruction.computation not in fused and instruction.opcode not in _WITHOUT_BUFFER:
            yield Buffer(
                kind=kinds.get(instruction.opcode, "temporary"),
                bytes=instruction.bytes,
                shape=instruction.shape,
                opcode=instruction.opcode,
                scope=instruction.op_name,
                instruction=instruction.name,
                offset_bytes=None,
            )
