"""Where the operations of a program come from: named scope and source line of each, by its HLO."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

from jaxmeter._program.hlo import Instruction, instructions
from jaxmeter.errors import JaxmeterError

_NAME = re.compile(r"^\s+(?:ROOT )?%?(?P<name>[\w.\-]+) = ")
_ROOT = re.compile(r"^\s+ROOT %?(?P<name>[\w.\-]+) = ")
_OPERANDS = re.compile(r"%(?P<name>[\w.\-]+)")
_FRAME = re.compile(r"stack_frame_id=(\d+)")
_SOURCE = re.compile(r'source_file="(?P<file>[^"]*)"(?: source_line=(?P<line>\d+))?')
_ENTRY = re.compile(r"^(?P<id>\d+) (?P<rest>.*)$")
_NUMBER = re.compile(r"(\w+)=(\d+)")
_CALLED = re.compile(r"(?:to_apply|body|called_computations=\{)=?%?(?P<name>[\w.\-]+)")
_TABLES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")

_WRAPPED = re.compile(r"^(?P<kind>\w+)\((?P<inner>.*)\)$")
# What JAX writes into names for its own control flow and calls.
_FLOW = {
    *("while", "body", "cond", "scan", "closed_call", "core_call", "checkpoint", "remat"),
    *("rematted_computation", "custom_jvp_call", "custom_vjp_call", "custom_lin", "shard_map"),
    *(
        "custom_jvp",
        "custom_vjp",
        "custom_vjp_call_jaxpr",
        "pjit",
        "jit",
        "xla_call",
        "call",
        "eval_jaxpr",
    ),
}
_BRANCH = re.compile(r"branch_\d+_fun|cond_\w+|while_\w+")
_CALLS = {"jit", "pjit", "xla_call", "core_call"}


@dataclass(frozen=True)
class Origin:
    """Where an instruction comes from."""

    opcode: str
    op_name: str
    """JAX's name of the operation, transformations, calls and scopes included."""
    scope: str
    """The named scopes alone, the outermost first: ``far_field/tile``. Empty if there is none."""
    source: str
    """``/path/file.py:12``; empty where the compiler does not tell."""
    inherited: bool
    """Whether it has no name itself and these are those of what it computes."""
    shape: str
    bytes: int


def named_scopes(op_name: str) -> str:
    """The named scopes in an operation's name, without calls, control flow and transformations.

    ``jit(f)/transpose(jvp(layer))/while/body/dot_general`` is of scope ``layer``.
    """
    found = []
    for part in op_name.split("/")[:-1]:
        wrapped = _WRAPPED.match(part)
        while wrapped is not None and wrapped["kind"] not in _CALLS:
            part = wrapped["inner"]
            wrapped = _WRAPPED.match(part)
        # einsum puts its own formula into the name.
        if wrapped or not part or part in _FLOW or _BRANCH.fullmatch(part) or "->" in part:
            continue
        found.append(part)
    return "/".join(found)


def origins(text: str) -> dict[str, Origin]:
    """Where each instruction of an HLO module comes from, by its name.

    A fusion or call without a name of its own takes that of the root of what it computes, else the
    commonest in there; what only moves data, such as a copy, that of what it moves.
    """
    every = list(instructions(text))
    sources, roots, operands, called = _details(text)
    bodies: dict[str, list[Instruction]] = defaultdict(list)
    for one in every:
        bodies[one.computation].append(one)
    known: dict[str, Instruction] = {one.name: one for one in every}
    found = {}
    for one in every:
        named, inherited = one, False
        if not one.scope:
            named = _named(one, bodies, known, roots, operands, called) or one
            inherited = named is not one
        found[one.name] = Origin(
            opcode=one.opcode,
            op_name=named.scope,
            scope=named_scopes(named.scope),
            source=sources.get(named.name, ""),
            inherited=inherited,
            shape=one.shape,
            bytes=one.bytes,
        )
    return found


def _named(one, bodies, known, roots, operands, called, depth: int = 4) -> Instruction | None:
    """Of what an instruction without a name computes, the one that gives it a name."""
    body = bodies.get(one.calls) or bodies.get(called.get(one.name, "")) or []
    root = next((part for part in body if part.name in roots), None)
    if root is not None and root.scope:
        return root
    commonest = Counter(part.scope for part in body if part.scope).most_common(1)
    if commonest:
        return next(part for part in body if part.scope == commonest[0][0])
    for operand in operands.get(one.name, ()) if depth else ():
        source = known.get(operand)
        if source is None or source.opcode in ("parameter", "constant"):
            continue
        if source.scope:
            return source
        deeper = _named(source, bodies, known, roots, operands, called, depth - 1)
        if deeper is not None:
            return deeper
    return None


def _details(text: str):
    """Source lines, which are roots, operands, and called computations, by instruction."""
    tables: dict[str, dict[int, str]] = {name: {} for name in _TABLES}
    sources: dict[str, str] = {}
    roots: set[str] = set()
    operands: dict[str, list[str]] = {}
    called: dict[str, str] = {}
    table = ""
    for line in text.splitlines():
        if line in tables:
            table = line
            continue
        if table:
            entry = _ENTRY.match(line)
            if entry is not None:
                tables[table][int(entry["id"])] = entry["rest"]
                continue
            table = ""
        name = _NAME.match(line)
        if name is None:
            continue
        if _ROOT.match(line):
            roots.add(name["name"])
        body, _, metadata = line.partition(" metadata={")
        operands[name["name"]] = _OPERANDS.findall(body[name.end() :].partition("), ")[0])
        to_apply = _CALLED.search(body)
        if to_apply is not None:
            called[name["name"]] = to_apply["name"]
        source = _source(metadata, tables)
        if source:
            sources[name["name"]] = source
    return sources, roots, operands, called


def _source(metadata: str, tables: dict[str, dict[int, str]]) -> str:
    direct = _SOURCE.search(metadata)
    if direct is not None:
        return f"{direct['file']}:{direct['line'] or 0}"
    frame = _FRAME.search(metadata)
    if frame is None:
        return ""
    numbers = dict(_NUMBER.findall(tables["StackFrames"].get(int(frame[1]), "")))
    location = tables["FileLocations"].get(int(numbers.get("file_location_id", 0)), "")
    place = dict(_NUMBER.findall(location))
    file = tables["FileNames"].get(int(place.get("file_name_id", 0)), "").strip('"')
    return f"{file}:{place.get('line', 0)}" if file else ""


_MODULE = re.compile(r"^HloModule (?P<name>[\w.\-]+)", re.MULTILINE)


def hlo_file(path: Path) -> tuple[str, str]:
    """The module's name and the text of a file with the HLO of one program.

    Raises
    ------
    JaxmeterError
        If the file cannot be read or is no such text.
    """
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise JaxmeterError(f"hlo: got {str(path)!r} ({error}); give a text of HLO") from None
    name = _MODULE.search(text)
    if name is None:
        raise JaxmeterError(
            f"hlo: got {str(path)!r}, which is no text of HLO; write compiled.as_text() to a file, "
            "or dump it with profiling/xla_dump.py"
        )
    return name["name"], text
