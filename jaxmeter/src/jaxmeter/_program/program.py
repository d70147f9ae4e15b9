"""Describe the size of a program: its jaxpr, its optimised HLO and the compiler's cost estimate."""

from __future__ import annotations

import re
from typing import Any

import jax

from jaxmeter._program.hlo import fingerprint, instructions
from jaxmeter._program.jaxprs import equations_count
from jaxmeter._records.record import Program

_CALLBACK = re.compile(r'custom_call_target="\w*callback')


def describe_program(closed_jaxpr: Any, compiled: jax.stages.Compiled | None = None) -> Program:
    """Return the size of a program. The closed jaxpr gives the number of equations; the compiled
    program gives all other quantities. Quantities that are not known are None."""
    found: dict[str, Any] = {}
    if closed_jaxpr is not None:
        found["jaxpr_equations_count"] = equations_count(closed_jaxpr)
    if compiled is not None:
        cost, text = compiled.cost_analysis() or {}, compiled.as_text()
        # XLA counts each host callback as -1 in the flops and bytes. If the program has a callback,
        # leave out both totals.
        if not _CALLBACK.search(text or "") and min(cost.values(), default=0) >= 0:
            found |= {"flops": cost.get("flops"), "accessed_bytes": cost.get("bytes accessed")}
        if text:  # some backends keep no HLO
            opcodes = [instruction.opcode for instruction in instructions(text)]
            found["hlo_instructions_count"] = len(opcodes)
            found["fusions_count"] = opcodes.count("fusion")
            found["hlo_fingerprint"] = fingerprint(text)
    return Program(**found)
