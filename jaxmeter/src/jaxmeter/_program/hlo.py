"""Read the instructions in HLO text, each with its operands, called computation, named scope and
source line."""

from __future__ import annotations

import dataclasses
import hashlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from jaxmeter._program.source_lines import TABLES, SourceLines, first, unescaped
from jaxmeter._records.argument_types import checking_types
from jaxmeter._records.files import TEXT_BYTES, file_errors, read_file
from jaxmeter.errors import JaxmeterError

_MODULE = re.compile(r"^HloModule ([\w.\-]+)", re.MULTILINE)
_COMPUTATION = re.compile(r"^(?:ENTRY )?%?(?P<name>[\w.\-]+) \(.*\{$")
# %sine.1 = f64[3]{0} sine(%p), metadata={...}; the type may be a tuple of types.
_INSTRUCTION = re.compile(
    r"^\s+(?P<root>ROOT )?%?(?P<name>[\w.\-]+) = (?P<type>.*?\S) (?P<opcode>[a-z][\w\-]*)"
    r"\((?P<rest>.*)$"
)
_ARGUMENTS_END = re.compile(r"\)(?:, |$)")
_NAME = re.compile(r"%([\w.\-]+)")
_NAME_OR_STRING = re.compile(r'"(?:[^"\\]|\\.)*"|%([\w.\-]+)')
_CALLS = re.compile(r"(?:calls=|to_apply=|body=|called_computations=\{)%?([\w.\-]+)")
_KIND = re.compile(r"kind=(\w+)")
_CALL_TARGET = re.compile(r'custom_call_target="([^"]+)"')
_OP_NAME = re.compile(r'op_name="((?:[^"\\]|\\.)*)"')
_OUTERMOST_JIT = re.compile(r"^jit\([^()]*\)/")
_LAYOUT = re.compile(r"\{[^{}]*\}|/\*[^*]*\*/")
_ARRAY = re.compile(r"(?P<dtype>[a-z]\w*)\[(?P<shape>[\d,<=\s]*)\]")
_NUMBER = re.compile(r"\d+")
_ENTRY = re.compile(r"^(\d{1,18}) (.*)$")
_LARGEST_ARRAY_BYTES = 2**60
_ORIGIN_STEPS_COUNT = 1000  # operands to search for each op_name; few programs need more

MOVING_OPCODES = frozenset(
    ("parameter", "constant", "bitcast", "tuple", "get-tuple-element", "broadcast", "copy")
)
"""Opcodes that only move or name data. The number of such instructions differs between versions of
the compiler."""


@dataclasses.dataclass(frozen=True)
class Instruction:
    """An instruction of a program."""

    name: str
    opcode: str
    shape: str
    """The type and shape of the result, without layouts: ``f32[64,3]``."""
    computation: str
    """The computation that contains the instruction."""
    is_root: bool
    arguments: str
    """The text in the parentheses after the opcode: operands, or the value of a constant."""
    calls: str
    """The computation that the instruction calls, such as the body of a loop; else empty."""
    fusion_kind: str
    """``kLoop``, ``kInput``, ``kOutput`` or ``kCustom`` for a fusion; empty for other opcodes."""
    call_target: str
    """The name of the foreign function that a custom call calls; empty for other opcodes."""
    op_name: str
    """JAX's name of the operation, without the outermost jit: ``jvp(layer)/dot_general``."""
    stack: tuple[str, ...]
    """The source lines of the calls that led to the instruction, such as ``/path/file.py:12``, the
    innermost call first. Before JAX 0.8, the compiler gives only the innermost line."""
    is_inherited: bool = False
    """Whether `op_name` and `stack` are taken from another instruction by `named_instructions`."""

    @property
    def source(self) -> str:
        """The innermost source line; empty if the compiler gives no source line."""
        return self.stack[0] if self.stack else ""

    @property
    def operands(self) -> list[str]:
        return _NAME.findall(self.arguments)

    @property
    def scope(self) -> str:
        """The named scopes in `op_name`, the outermost first, such as ``far_field/tile``."""
        return named_scopes(self.op_name)

    @property
    def bytes(self) -> int:
        """The size of the result in bytes, without the pointers of a tuple."""
        return sum(_array_bytes(match) for match in _ARRAY.finditer(self.shape))


def instructions(text: str) -> Iterator[Instruction]:
    """Yield the instructions in the text of an HLO module, in order."""
    lines = SourceLines()
    table = computation = ""
    for line in text.splitlines():
        match = _INSTRUCTION.match(line) if computation else None
        if match is not None:
            yield _instruction(match, computation, lines)
        elif begins := _COMPUTATION.match(line):
            computation = begins["name"]
        elif line in lines.tables:
            table = line
        elif table and (entry := _ENTRY.match(line)):
            lines.tables[table][int(entry[1])] = entry[2]


def _instruction(match: re.Match[str], computation: str, lines: SourceLines) -> Instruction:
    rest, _, metadata = match["rest"].partition(", metadata={")
    end = _ARGUMENTS_END.search(rest)
    arguments, attributes = (rest, "") if end is None else (rest[: end.start()], rest[end.end() :])
    return Instruction(
        name=match["name"],
        opcode=match["opcode"],
        shape=_LAYOUT.sub("", match["type"]),
        computation=computation,
        is_root=match["root"] is not None,
        arguments=arguments,
        calls=first(_CALLS, attributes),
        fusion_kind=first(_KIND, attributes) if match["opcode"] == "fusion" else "",
        call_target=first(_CALL_TARGET, attributes),
        op_name=unescaped(_OUTERMOST_JIT.sub("", first(_OP_NAME, metadata))),
        stack=lines.stack(metadata),
    )


def _array_bytes(match: re.Match[str]) -> int:
    dtype = match["dtype"]
    if dtype in ("token", "opaque"):
        return 0
    bits = _NUMBER.search(dtype)
    # Types narrower than a byte take one byte; pred has no width in its name.
    sizes = [*_NUMBER.findall(match["shape"]), "1" if bits is None else bits.group()]
    if max(map(len, sizes)) <= 18:
        *shape, width = map(int, sizes)
        found = max(width // 8, 1) * math.prod(shape)
        if found <= _LARGEST_ARRAY_BYTES:
            return found
    raise JaxmeterError(
        f"hlo: got the array {match.group():.60}, which is larger than any memory; give the HLO "
        "text of a compiled program"
    )


def bodies(every: Iterable[Instruction]) -> dict[str, list[Instruction]]:
    """Return the instructions of each computation, by the name of the computation."""
    found: dict[str, list[Instruction]] = defaultdict(list)
    for instruction in every:
        found[instruction.computation].append(instruction)
    return found


def named_instructions(text: str) -> dict[str, Instruction]:
    """Return the instructions of an HLO module by name; fill in missing names of operations.

    Some instructions have no `op_name`. Such an instruction gets the `op_name` and the `stack` of
    a related instruction. For a fusion, a loop or another instruction that calls a computation, the
    related instruction is taken from this computation (see `_named_part`). If no computation is
    called, or the computation contains no `op_name`, the related instruction is a bitcast of the
    result (see `_named_bitcasts`), unless the instruction only moves data. If there is no such
    bitcast, the related instruction is an operand, an operand of an operand, and so on. If none of
    these has an `op_name`, nothing is filled in.
    """
    known = {instruction.name: instruction for instruction in instructions(text)}
    parts = {name: _named_part(body) for name, body in bodies(known.values()).items()}
    bitcasts = _named_bitcasts(known)
    related = {
        name: parts.get(part.calls)
        or (None if part.opcode in MOVING_OPCODES else bitcasts.get(name))
        for name, part in known.items()
    }
    found = {}
    for name, instruction in known.items():
        steps = iter(range(_ORIGIN_STEPS_COUNT))
        origin = None if instruction.op_name else _origin(instruction, related, known, steps)
        if origin is not None:
            instruction = dataclasses.replace(
                instruction, op_name=origin.op_name, stack=origin.stack, is_inherited=True
            )
        found[name] = instruction
    return found


def _named_part(body: Iterable[Instruction]) -> Instruction | None:
    """Return the root of a computation if it has an `op_name`, or else an instruction with the most
    frequent `op_name`; None if no instruction has an `op_name`."""
    named = [part for part in body if part.op_name]
    if not named:
        return None
    (frequent, _), *_ = Counter(part.op_name for part in named).most_common(1)
    root = next((part for part in named if part.is_root), None)
    return root or next(part for part in named if part.op_name == frequent)


def _named_bitcasts(known: Mapping[str, Instruction]) -> dict[str, Instruction]:
    """Return the first bitcast with an `op_name` of each instruction's result. The bitcast may be
    inside a fusion.

    If XLA replaces an operation by several instructions, only the last of these gets the `op_name`.
    A product of a matrix and a vector, for example, is replaced by a product of two matrices and a
    bitcast of the result.
    """
    parameters: dict[tuple[str, str], str] = {}
    found: dict[str, Instruction] = {}
    for name, instruction in known.items():  # a computation comes before its calls
        if instruction.opcode == "parameter":
            parameters[instruction.computation, instruction.arguments] = name
        for number, operand in enumerate(instruction.operands):
            inside = parameters.get((instruction.calls, str(number)), "")
            bitcast = instruction if instruction.opcode == "bitcast" else found.get(inside)
            if bitcast is not None and bitcast.op_name:
                found.setdefault(operand, bitcast)
    return found


def _origin(
    instruction: Instruction,
    related: Mapping[str, Instruction | None],
    known: Mapping[str, Instruction],
    steps: Iterator[int],
    depth: int = 4,
) -> Instruction | None:
    """Return the instruction that supplies the missing `op_name` of another instruction; None if no
    such instruction is found."""
    near = related[instruction.name]
    if near is not None:
        return near
    for operand in instruction.operands if depth else ():
        if next(steps, None) is None:
            return None
        source = known.get(operand)
        if source is None or source.opcode in ("parameter", "constant"):
            continue
        found = source if source.op_name else _origin(source, related, known, steps, depth - 1)
        if found is not None:
            return found
    return None


_WRAPPED = re.compile(r"^(?P<kind>\w+)\((?P<inner>.*)\)$")
# Parts of operation names that stand for control flow and calls of JAX, not for named scopes.
_FLOW = frozenset(
    "while body cond scan call closed_call core_call xla_call jit pjit checkpoint remat "
    "rematted_computation custom_jvp custom_jvp_call custom_vjp custom_vjp_call "
    "custom_vjp_call_jaxpr custom_lin shard_map eval_jaxpr".split()
)
_BRANCH = re.compile(r"branch_\d+_fun|cond_\w+|while_\w+")
_JITS = frozenset(("jit", "pjit", "xla_call", "core_call"))


def named_scopes(op_name: str) -> str:
    """Return the named scopes in an operation's name, without calls, loops and transformations.

    ``jit(f)/transpose(jvp(layer))/while/body/dot_general`` is in scope ``layer``.
    """
    found = []
    for part in op_name.split("/")[:-1]:
        wrapped = _WRAPPED.match(part)
        while wrapped is not None and wrapped["kind"] not in _JITS:
            part = wrapped["inner"]
            wrapped = _WRAPPED.match(part)
        # einsum puts its formula, such as "ij,jk->ik", into the name.
        if wrapped or not part or part in _FLOW or _BRANCH.fullmatch(part) or "->" in part:
            continue
        found.append(part)
    return "/".join(found)


def module_name(text: str) -> str:
    """Return the name of an HLO module; empty if the text is not an HLO module."""
    return first(_MODULE, text)


@checking_types
def hlo_file(path: Path) -> tuple[str, str]:
    """Return the name of the HLO module in a file, and the text of the file.

    Raises
    ------
    JaxmeterError
        If the file cannot be read or contains no HLO text.
    """
    with file_errors("hlo", path, "give a file of HLO text"):
        text = read_file(path, TEXT_BYTES).decode("utf-8", "replace")
    name = module_name(text)
    if not name:
        raise JaxmeterError(
            f"hlo: got {str(path)!r}, which contains no HLO text; write compiled.as_text() to a "
            "file, or dump the program with jaxmeter.tables.dump_program"
        )
    return name, text


# Metadata may contain braces in its quoted strings.
_METADATA = re.compile(r',? ?metadata=\{(?:[^{}"]|"(?:[^"\\]|\\.)*")*\}')
# XLA's own digest of a GPU program before scheduling; it depends on the program's name.
_XLA_FINGERPRINT = re.compile(
    r',? ?frontend_attributes=\{fingerprint_before_lhs="\w*"\}'
    r'|fingerprint_before_lhs="\w*",|,fingerprint_before_lhs="\w*"'
)
_TABLES_TEXT = re.compile(rf"^(?:{'|'.join(TABLES)})\n(?:.+\n)*", re.MULTILINE)
# The signature of a computation repeats its parameters and its root.
_SIGNATURE = re.compile(r"^((?:ENTRY )?%[\w.\-]+) \(.*\{$", re.MULTILINE)


def fingerprint(text: str) -> str:
    """Return a digest of HLO text, of 40 digits. Parts that may differ between equal programs are
    left out: source lines, scopes, XLA's own digest, and the names of the module, of computations
    and of instructions. Names outside strings are replaced by numbers, in the order in which they
    occur."""
    text = _XLA_FINGERPRINT.sub("", _TABLES_TEXT.sub("", _METADATA.sub("", text)))
    text = re.sub(r"^HloModule [^,\n]+", "HloModule", text, flags=re.MULTILINE)
    numbers: dict[str, int] = {}

    def numbered(found: re.Match[str]) -> str:
        return f"%{numbers.setdefault(found[1], len(numbers))}" if found[1] else found[0]

    text = _NAME_OR_STRING.sub(numbered, _SIGNATURE.sub(r"\1", text))
    return hashlib.sha256(text.encode()).hexdigest()[:40]
