"""The size of a program: its jaxpr, its optimised HLO, and what the compiler says it costs."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from typing import Any

import jax

from jaxmeter._program.jaxprs import equations_count
from jaxmeter._records.record import Program

# An instruction's metadata: source lines and scopes. Its texts may hold braces.
_METADATA = re.compile(r',? ?metadata=\{(?:[^{}"]|"(?:[^"\\]|\\.)*")*\}')
# Tables of source lines that stand before the computations, from JAX 0.8 on.
_TABLES = re.compile(
    r"^(?:FileNames|FunctionNames|FileLocations|StackFrames)\n(?:.+\n)*", re.MULTILINE
)
_MODULE_NAME = re.compile(r"^HloModule [^,\n]+", re.MULTILINE)
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?[\w.\-]+ = (.*)$", re.MULTILINE)
_FUSION = re.compile(r"(?:^|[\s)}\]])fusion\(")


def describe_program(closed_jaxpr: Any, compiled: jax.stages.Compiled | None = None) -> Program:
    """Count what a program is made of.

    Parameters
    ----------
    closed_jaxpr : jax.extend.core.ClosedJaxpr
        The traced program.
    compiled : jax.stages.Compiled, optional
        The same program compiled. Without it only the jaxpr is counted.
    """
    program = Program() if compiled is None else describe_compiled(compiled)
    return dataclasses.replace(program, jaxpr_equations_count=equations_count(closed_jaxpr))


def describe_compiled(compiled: jax.stages.Compiled) -> Program:
    """Count what a compiled program is made of, whose jaxpr is not known."""
    flops, accessed_bytes = _cost(compiled)
    program = Program(flops=flops, accessed_bytes=accessed_bytes)
    text = compiled.as_text()
    if not text:  # a backend that keeps no HLO
        return program
    stripped = strip_hlo(text)
    instructions = _INSTRUCTION.findall(stripped)
    return dataclasses.replace(
        program,
        hlo_instructions_count=len(instructions),
        fusions_count=sum(1 for instruction in instructions if _FUSION.search(instruction)),
        hlo_fingerprint=hashlib.sha256(stripped.encode()).hexdigest(),
    )


def strip_hlo(text: str) -> str:
    """Optimised HLO text without what changes though the program does not: source lines, scopes
    and the module's name."""
    return _MODULE_NAME.sub("HloModule", _TABLES.sub("", _METADATA.sub("", text)))


def _cost(compiled: jax.stages.Compiled) -> tuple[float | None, float | None]:
    cost: Any = compiled.cost_analysis()
    if isinstance(cost, (list, tuple)):  # one for each program in some versions
        cost = cost[0] if cost else None
    flops, accessed = ((cost or {}).get(name) for name in ("flops", "bytes accessed"))
    return None if flops is None else float(flops), None if accessed is None else float(accessed)
