"""Describe the size of a program: its jaxpr, its optimised HLO and the compiler's cost estimate."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax

from jaxmeter._program.hlo import fingerprint, instructions
from jaxmeter._program.jaxprs import equations_count
from jaxmeter._records.record import Program


def describe_program(closed_jaxpr: Any, compiled: jax.stages.Compiled | None = None) -> Program:
    """Return the size of a program.

    Parameters
    ----------
    closed_jaxpr : jax.extend.core.ClosedJaxpr
        The traced program.
    compiled : jax.stages.Compiled, optional
        The same program, compiled. Without it, only the equations of the jaxpr are counted.
    """
    program = Program() if compiled is None else describe_compiled(compiled)
    return dataclasses.replace(program, jaxpr_equations_count=equations_count(closed_jaxpr))


def describe_compiled(compiled: jax.stages.Compiled) -> Program:
    """Return the size of a compiled program; its jaxpr is not needed."""
    cost = compiled.cost_analysis() or {}
    flops, accessed = (cost.get(name) for name in ("flops", "bytes accessed"))
    program = Program(
        flops=None if flops is None else float(flops),
        accessed_bytes=None if accessed is None else float(accessed),
    )
    text = compiled.as_text()
    if not text:  # a backend that keeps no HLO
        return program
    opcodes = [instruction.opcode for instruction in instructions(text)]
    return dataclasses.replace(
        program,
        hlo_instructions_count=len(opcodes),
        fusions_count=opcodes.count("fusion"),
        hlo_fingerprint=fingerprint(text),
    )
