"""Attribute the seconds of stages and kernels to source lines, scopes and primitives."""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from jaxmeter._compile.stages import StageSeconds
from jaxmeter._compile.trace_lines import Equations
from jaxmeter._program.hlo import (
    MOVING_OPCODES,
    Instruction,
    bodies,
    instructions,
    named_instructions,
)
from jaxmeter._records.audit import Folding
from jaxmeter._records.compile import Basis, CompiledKernel, CompileRow, Stage


class Origin(NamedTuple):
    """The source line, scope and primitive of an instruction; unknown parts are empty strings."""

    source: str
    scope: str
    primitive: str


_UNKNOWN = Origin("", "", "")
Shares = Mapping[Origin, float]


class Kernels:
    """The kernels of an optimised program, and the source lines that each kernel comes from."""

    def __init__(self, text: str, before: str, equations: Equations) -> None:
        """Read a program. ``text`` is its optimised HLO, ``before`` is its unoptimised HLO, and
        ``equations`` are the equations of its jaxpr."""
        self._known = named_instructions(text)
        self._bodies = bodies(self._known.values())
        self._equations = equations
        self._users: dict[str, list[str]] = defaultdict(list)
        for name, instruction in self._known.items():
            for operand in instruction.operands:
                self._users[operand].append(name)
        self.computing = [p for p in self._known.values() if p.opcode not in MOVING_OPCODES]
        self.before = _with_callers(list(instructions(before)))
        self._by_opcode: dict[str, set[Origin]] = defaultdict(set)
        for part in self.before:
            self._by_opcode[part.opcode].add(self.origin(part))

    def inside(self, kernel: str) -> list[Instruction]:
        """Return the instructions of a kernel, without instructions that only move data.

        If all instructions only move data, return the instructions that become code. If no
        instruction becomes code, or if the kernel is a loop, return only the instruction with the
        name of the kernel. If the kernel is not known, the list is empty.
        """
        instruction = self._instruction(kernel)
        if instruction is None:
            return []
        body = [] if instruction.opcode == "while" else list(self._called(instruction))
        body = [part for part in body if part.opcode not in _WITHOUT_CODE] or [instruction]
        return [part for part in body if part.opcode not in MOVING_OPCODES] or body

    def _instruction(self, kernel: str) -> Instruction | None:
        # A small loop may be one kernel. The kernel then has the name of the instruction that
        # calls the loop, followed by "_computation".
        return self._known.get(kernel) or self._known.get(kernel.removesuffix("_computation"))

    def _called(self, instruction: Instruction) -> Iterator[Instruction]:
        """Yield the instructions that an instruction calls, directly or through other calls."""
        for part in self._bodies.get(instruction.calls, ()):
            if part.opcode in ("fusion", "call", "while", "conditional"):
                yield from self._called(part)
            else:
                yield part

    def shares(self, kernel: str) -> Shares:
        """Return the share of each origin in a kernel; all instructions have equal weight.

        XLA leaves some instructions without a source line, such as the parts of a cumulative sum.
        If more than half of the kernel's instructions have no line, the instructions without a line
        get the origin from `_inferred`. Otherwise, the instructions without a line are not counted.
        """
        counts = Counter(map(self.origin, self.inside(kernel)))
        unknown = sum(count for origin, count in counts.items() if not origin.source)
        if unknown > sum(counts.values()) / 2 and (inferred := self._inferred(kernel)):
            counts[inferred] += unknown
        return _shares(counts)

    def _inferred(self, kernel: str) -> Origin | None:
        """Return an inferred origin of a kernel, with a source line; None if no origin is found.

        The search begins in the kernel. It continues with the instructions that make the kernel's
        operands or use the kernel's result, then with the neighbours of these instructions, and so
        on. The first origin with a line is returned. For an instruction without a line, the
        instructions with the same opcode are found in the program before optimisation. If all of
        them have the same origin, this origin is used.
        """
        seen, waiting = {kernel}, [kernel]
        while waiting:
            name = waiting.pop(0)
            for part in self.inside(name):
                origins = {self.origin(part)} if part.source else self._by_opcode[part.opcode]
                if len(origins) == 1 and (origin := next(iter(origins))).source:
                    return origin
            instruction = self._instruction(name)
            read = [] if instruction is None else instruction.operands
            for other in (*read, *self._users[name]):
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
        return None

    def origin(self, instruction: Instruction) -> Origin:
        """Return the line to show, the named scopes and the primitive of an instruction."""
        primitive = instruction.op_name.rpartition("/")[2]
        source = self._equations.author(instruction.stack)
        return Origin(source, instruction.scope, primitive)

    def described(self, kernel: str, seconds: Mapping[tuple[Stage, str], float]) -> CompiledKernel:
        """Return the times, the instruction counts and the main origin of a kernel."""
        inside = self.inside(kernel)
        shares = self.shares(kernel)
        main = max(shares, key=shares.__getitem__, default=_UNKNOWN)
        return CompiledKernel(
            name=kernel,
            emit_seconds=seconds.get(("emit", kernel), 0.0),
            llvm_seconds=seconds.get(("LLVM", kernel), 0.0),
            instructions_count=len(inside),
            operations=dict(Counter(part.opcode for part in inside).most_common()),
            scope=main.scope,
            primitive=main.primitive,
            source=main.source,
        )


# No code is made for these opcodes: a bitcast keeps the bytes, the other opcodes only name data.
_WITHOUT_CODE = frozenset(("parameter", "constant", "bitcast", "tuple", "get-tuple-element"))


def compile_rows(
    stages: StageSeconds, kernels: Kernels, foldings: Iterable[Folding]
) -> list[CompileRow]:
    """Return the rows of a compile. Their seconds sum to the seconds of the stages.

    The time of HLO passes is divided equally among the instructions of the unoptimised program. The
    time of constant folding is divided in proportion to the estimated times of ``foldings``.
    """
    all_kernels = [name for _, name in stages.seconds if name]
    compiled = [part for name in dict.fromkeys(all_kernels) for part in kernels.inside(name)]
    # XLA's older emitters put the whole program into one module, so no kernel is known.
    compiled = compiled or kernels.computing
    estimates: dict[Origin, float] = defaultdict(float)
    for folding in foldings:
        source = f"{folding.uses[0].file}:{folding.uses[0].line}" if folding.uses else ""
        estimates[Origin(source, "", folding.operation)] += folding.seconds
    code = _shares(Counter(map(kernels.origin, compiled)))
    shared: dict[Stage, Shares] = {
        "HLO passes": _shares(Counter(map(kernels.origin, kernels.before))),
        "constant folding": _portions(estimates),
        "emit": code,
        "LLVM": code,
    }
    rows = []
    for (stage, kernel), seconds in stages.seconds.items():
        shares = kernels.shares(kernel) if kernel else shared.get(stage, {})
        basis: Basis = "measured" if kernel else "by instructions"
        if stage == "constant folding":
            basis = "by estimate"
        rows += rows_of(stage, seconds, shares, basis, kernel)
    return rows


def rows_of(
    stage: Stage, seconds: float, shares: Shares, basis: Basis, kernel: str = ""
) -> list[CompileRow]:
    """Return a row for each origin with its share of the seconds; if ``shares`` is empty, return
    one row without an origin."""
    return [
        CompileRow(
            stage=stage,
            seconds=seconds * share,
            basis=basis if origin.source else "unattributed",
            source=origin.source,
            kernel=kernel,
            scope=origin.scope,
            primitive=origin.primitive,
        )
        for origin, share in (shares or {_UNKNOWN: 1.0}).items()
    ]


def _shares(counts: Mapping[Origin, float]) -> Shares:
    """Return the shares of the origins with a line, or of all origins if no origin has a line."""
    return _portions({origin: n for origin, n in counts.items() if origin.source} or counts)


def _portions(counts: Mapping[Origin, float]) -> Shares:
    total = sum(counts.values())
    return {origin: count / total for origin, count in counts.items()} if total else {}


def _with_callers(program: list[Instruction]) -> list[Instruction]:
    """Return the instructions that become code. An instruction without a source line gets the
    source line of the call to its computation, and the call's name in front of its own name."""
    callers: dict[str, Instruction] = {}
    found = []
    for part in reversed(program):  # a computation comes before its calls
        caller = None if part.source else callers.get(part.computation)
        if caller is not None:
            op_name = f"{caller.op_name}/{part.op_name}" if part.op_name else caller.op_name
            part = dataclasses.replace(part, op_name=op_name, stack=caller.stack)
        if part.opcode == "call" and part.source:
            callers[part.calls] = part
        if part.opcode not in _WITHOUT_CODE:
            found.append(part)
    return found
