"""Make the tables of a compile profile."""

from __future__ import annotations

import dataclasses
from typing import Any

import pandas as pd

from jaxmeter._records.compile import CompileProfile
from jaxmeter._tables.schemas import REAL, TEXT, WHOLE, frame, schema

schema(
    "compile_rows",
    "The time of one stage that belongs to one source line and kernel, the slowest first; the sum "
    "is the time of tracing, lowering and compiling.",
    {
        "stage": (
            TEXT,
            "`trace`, `lower`, `HLO passes`, `constant folding`, `emit`, `LLVM`, `other`",
        ),
        "seconds": (REAL, "elapsed time, seconds; parallel work is divided"),
        "basis": (TEXT, "how the line is known: `measured`, `by ...` or `unattributed`"),
        "source": (TEXT, "file and line; empty if it is not known"),
        "kernel": (TEXT, "name of the kernel; empty for stages before there are kernels"),
        "scope": (TEXT, "named scopes"),
        "primitive": (TEXT, "primitive of JAX"),
    },
)
schema(
    "compile_lines",
    "A source line with its share of every stage, the slowest first.",
    {
        "source": (TEXT, "file and line"),
        "function": (TEXT, "the Python function"),
        "text": (TEXT, "the line itself"),
        "seconds": (REAL, "all stages, seconds"),
        "trace_seconds": (REAL, "tracing, sampled, seconds"),
        "lower_seconds": (REAL, "lowering, divided by equations, seconds"),
        "compile_seconds": (REAL, "compiling, seconds"),
        "folding_seconds": (REAL, "constant folding, a part of compiling, seconds"),
        "equations_count": (WHOLE, "equations of the jaxpr"),
        "kernels_count": (WHOLE, "kernels with instructions of the line"),
        "instructions_count": (WHOLE, "HLO instructions in kernels"),
    },
)
schema(
    "compile_kernels",
    "A kernel, the slowest to compile first.",
    {
        "name": (TEXT, "instruction of the optimised HLO"),
        "seconds": (REAL, "emitting and LLVM, seconds"),
        "emit_seconds": (REAL, "HLO to LLVM's representation, seconds"),
        "llvm_seconds": (REAL, "optimising, and making machine code, seconds"),
        "instructions_count": (WHOLE, "HLO instructions inside that compute"),
        "operations": (TEXT, "opcodes inside with their numbers"),
        "scope": (TEXT, "named scopes"),
        "primitive": (TEXT, "primitive of JAX"),
        "source": (TEXT, "file and line of most of its instructions"),
    },
)
schema(
    "compile_passes",
    "An HLO pass, the slowest first.",
    {"name": (TEXT, "name of the pass"), "seconds": (REAL, "elapsed time, seconds")},
)


def compile_tables(profile: CompileProfile) -> dict[str, pd.DataFrame]:
    """Return the tables of a compile profile: rows, lines, kernels and HLO passes."""
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
