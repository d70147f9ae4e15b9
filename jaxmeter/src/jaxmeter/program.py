"""The size of a program: its jaxpr, its optimised HLO, and what the compiler says it costs."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import jax

from jaxmeter.jaxprs import equations_count
from jaxmeter.record import Program

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
    equations = equations_count(closed_jaxpr)
    if compiled is None:
        return Program(jaxpr_equations_count=equations)
    cost = _cost(compiled)
    text = compiled.as_text()
    if not text:  # a backend that keeps no HLO
        return Program(jaxpr_equations_count=equations, **cost)
    stripped = strip_hlo(text)
    instructions = _INSTRUCTION.findall(stripped)
    return Program(
        jaxpr_equations_count=equations,
        hlo_instructions_count=len(instructions),
        fusions_count=sum(1 for text in instructions if _FUSION.search(text)),
        hlo_fingerprint=hashlib.sha256(stripped.encode()).hexdigest(),
        **cost,
    )


def strip_hlo(text: str) -> str:
    """Optimised HLO text without what changes though the program does not: source lines, scopes
    and the module's name."""
    return _MODULE_NAME.sub("HloModule", _TABLES.sub("", _METADATA.sub("", text)))


def _cost(compiled: jax.stages.Compiled) -> dict[str, float | None]:
    cost = compiled.cost_analysis()
    if isinstance(cost, (list, tuple)):  # one for each program in some versions
        cost = cost[0] if cost else None
    cost = cost or {}
    flops, accessed = cost.get("flops"), cost.get("bytes accessed")
    return {
        "flops": None if flops is None else float(flops),
        "accessed_bytes": None if accessed is None else float(accessed),
    }
