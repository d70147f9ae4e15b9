"""Make the tables of a compile profile."""

from __future__ import annotations

import dataclasses
from typing import Any

import pandas as pd

from jaxmeter._records.argument_types import checking_types
from jaxmeter._records.compile import CompileProfile
from jaxmeter._tables.schemas import frame, schema

schema(
    "compile_rows",
    "Each row is the time of one stage for one source line, kernel, scope and primitive. The "
    "slowest row is first. The rows add up to the time of tracing, lowering and compiling.",
    stage="`trace`, `lower`, `HLO passes`, `constant folding`, `emit`, `LLVM`, `other`",
    seconds="elapsed time, seconds; kernels that are compiled at the same time share the elapsed "
    "time",
    basis="`measured`; `unattributed` if the line is not known; `by instructions`, `by equations` "
    "or `by estimate` if only the total of several rows was measured. The total is then divided in "
    "proportion to the instructions, equations or estimated times of the rows",
    source="file and line; empty if the line is not known",
    kernel="name of the kernel; empty if the time does not belong to one kernel",
    scope="named scopes",
    primitive="primitive of JAX",
)
schema(
    "compile_lines",
    "Each row is a source line, with the time that the line takes in each stage. The slowest line "
    "is first.",
    source="file and line",
    function="name of the Python function",
    text="source text of the line",
    seconds="time of all stages, seconds",
    trace_seconds="time of tracing, from samples of the stack, seconds; without samples, divided "
    "in proportion to the equations of each line",
    lower_seconds="time of lowering, divided in proportion to the equations of each line, seconds",
    compile_seconds="time of compiling, seconds",
    folding_seconds="time of constant folding, a part of compiling, seconds",
    equations_count="number of equations in the jaxpr that come from the line",
    kernels_count="number of kernels with instructions that come from the line",
    instructions_count="number of HLO instructions in kernels that come from the line",
)
schema(
    "compile_kernels",
    "Each row is a kernel. The kernel that took longest to compile is first.",
    name="name of the kernel's instruction in the optimised HLO, for a small loop with the suffix "
    "`_computation`",
    seconds="time of the stages `emit` and `LLVM`, seconds",
    emit_seconds="time of translating HLO into LLVM's representation, seconds",
    llvm_seconds="time of optimising and generating machine code in LLVM, seconds",
    instructions_count="number of HLO instructions in the kernel that do more than move or name "
    "data; in a kernel without such instructions, number of instructions that become code; 1 for a "
    "loop",
    operations="opcodes in the kernel with their counts",
    scope="named scopes",
    primitive="primitive of JAX",
    source="file and line; if the instructions have several lines, scopes and primitives, the most "
    "frequent combination is given",
)
schema(
    "compile_passes",
    "Each row is an HLO pass of the compiler. The slowest pass is first.",
    name="name of the pass",
    seconds="elapsed time, seconds",
)


@checking_types
def compile_tables(profile: CompileProfile) -> dict[str, pd.DataFrame]:
    """Return the tables of a compile profile by name.

    The tables are ``compile_rows``, ``compile_lines``, ``compile_kernels`` and ``compile_passes``.
    """
    kernels = [
        _plain(kernel)
        | {"operations": ", ".join(f"{count} {code}" for code, count in kernel.operations.items())}
        for kernel in profile.kernels
    ]
    passes = [{"name": name, "seconds": seconds} for name, seconds in profile.passes.items()]
    return {
        "compile_rows": frame("compile_rows", map(dataclasses.asdict, profile.rows)),
        "compile_lines": frame("compile_lines", map(_plain, profile.lines)),
        "compile_kernels": frame("compile_kernels", kernels),
        "compile_passes": frame("compile_passes", passes),
    }


def _plain(part: Any) -> dict[str, Any]:
    return dataclasses.asdict(part) | {"seconds": part.seconds}
