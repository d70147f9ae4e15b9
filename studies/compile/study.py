"""Profile the compile of functions with a known slow line, or of the programs of vcjax.

The functions are in `studies.compile.slow_lines`. Their rows are written to
``slow_lines_jax_VERSION.csv``, one file for each version of JAX. With ``--programs`` the study
profiles the programs of vcjax instead, and writes ``programs.csv``. The exit code is 1 if a slow
line is missed. A line is missed if the profile does not rank it first, or attributes less than 80 %
of the time to source lines.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax

import jaxmeter
from benchmarks.cases import off_surface, operations
from benchmarks.measuring.checkout import ROOT
from studies.compile import slow_lines
from studies.harness import Row, measured, worker_rows, write_rows

DIGITS = 6
LINES_COUNT = 6
LEAST_ATTRIBUTED = 0.8
STAGES = ("trace", "lower", "HLO passes", "constant folding", "emit", "LLVM", "other")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this study to its parser."""
    parser.add_argument("--programs", action="store_true", help="profile the programs of vcjax")
    parser.add_argument("--out", type=Path, default=measured("compile", ""), help="folder of rows")


def run(options: argparse.Namespace) -> int:
    """Profile the functions or the programs, and write the rows."""
    name = "programs" if options.programs else f"slow_lines_jax_{version('jax')}"
    measure = program_rows if options.programs else slow_line_rows
    file = options.out / f"{name}.csv"
    found = worker_rows(measure, {}, env={"JAX_ENABLE_X64": "1"}, timeout_seconds=3600)
    write_rows(file, found)
    if options.programs:
        return 0
    missed = [
        row["slow_line"]
        for row in found
        if row["rank"] != "1" or float(row["attributed_share"]) < LEAST_ATTRIBUTED
    ]
    print(f"{file.name}: {len(found) - len(missed)} of {len(found)} slow lines found")
    for name in missed:
        print(f"  missed: {name}")
    return 1 if missed else 0


def slow_line_rows() -> Iterator[Row]:
    """Yield a row for each function: rank and share of its slow line, and checks of the profile.

    The share is the part of the time that the profile attributes to the slow line.
    """
    jax.jit(lambda x: x + 1).lower(1.0).compile()  # the first compile starts the compiler
    for name, (fn, args) in slow_lines.functions().items():
        lowered = jax.jit(fn).lower(*args)
        _, plain = _with_cpu_seconds(lowered.compile)
        profile = partial(jaxmeter.compile_profile, fn, *args)
        found, profiled = _with_cpu_seconds(profile)
        # Keep the fastest of three profiles: on a busy machine a compile also waits for a core.
        found = min((found, profile(), profile()), key=lambda one: one.compile_seconds)
        line = slow_lines.slow_line(fn)
        compiled = sum(row.seconds for row in found.rows if row.stage not in ("trace", "lower"))
        seconds = {one.source: one.seconds for one in found.lines}
        others = max((spent for at, spent in seconds.items() if at != line), default=0.0)
        yield {
            "slow_line": name,
            "rank": [*seconds, line].index(line) + 1,
            "share": round(seconds.get(line, 0.0) / found.seconds, 3),
            "next_share": round(others / found.seconds, 3),
            "attributed_share": round(found.attributed_share, 3),
            "measured_share": round(found.measured_share, 3),
            "rows_over_clock": round(compiled / found.compile_seconds, 4),
            "kernels_count": len(found.kernels),
            "unpaired_count": found.unpaired_kernels_count,
            "plain_compile_cpu_seconds": round(plain, 3),
            "profile_cpu_seconds": round(profiled, 3),
            "advice": "; ".join(one.rule for one in found.advice),
        }


def _with_cpu_seconds(call: Callable[[], Any]) -> tuple[Any, float]:
    """Make a call; return its result, and the CPU seconds of all threads during the call."""
    start = time.process_time()
    result = call()
    return result, time.process_time() - start


def program_rows() -> Iterator[Row]:
    """Yield, for each program of vcjax, a row of totals and a row for each of the slowest lines."""
    for name, make in PROGRAMS.items():
        found = jaxmeter.compile_profile(make())
        whole = {
            "program": name,
            "line": "",
            "seconds": round(found.seconds, 3),
            "share": round(found.attributed_share, 3),
            "equations_count": sum(line.equations_count for line in found.lines),
            "kernels_count": len(found.kernels),
            "instructions_count": sum(k.instructions_count for k in found.kernels),
        }
        whole |= {one: round(found.stage_seconds(one) / found.seconds, 4) for one in STAGES}
        yield whole
        for line in found.lines[:LINES_COUNT]:
            yield {
                **dict.fromkeys(whole, ""),
                "program": name,
                "line": line.source.removeprefix(f"{ROOT}/"),
                "seconds": round(line.seconds, 3),
                "share": round(line.seconds / found.seconds, 3),
                "equations_count": line.equations_count,
                "kernels_count": line.kernels_count,
                "instructions_count": line.instructions_count,
            }


PROGRAMS: dict[str, Callable[[], jaxmeter.Case]] = {
    "prepare": partial(operations.prepare, digits=DIGITS),
    "field": partial(operations.field, digits=DIGITS),
    "gradient": partial(operations.gradient, digits=DIGITS),
    "off-surface": partial(
        off_surface.fields_at_distance, workload="w7x", digits=DIGITS, distance=0.1, point_count=64
    ),
    "gradient in X": partial(operations.gradient_in_X, digits=DIGITS),
}
"""For each program of vcjax: the function that makes its case. All cases use the W7-X surface."""
