"""Compare vcjax with the C++ package `virtual_casing`, cold and in steady state: docs/compare.md.

    make compare                                               # compare at 3 and 6 digits
    python -m studies compare --digits 3 6 9 12 --rounds 6     # more digits and processes
    python -m studies compare --threads 2                      # elapsed time on two CPUs

The study measures four operations on W7-X. "B" is the field on the surface, and "grad B" is the
gradient of this field. "off surface" is the field at points off the surface. "gradient in X" is the
gradient, with respect to X, of the sum of the squared field; the C++ package lacks this operation.
Each measurement is a process of its own, bound (on Linux) to as many CPUs as it has threads. The
table shows the time of the whole process, compile time, set-up and evaluation time in the steady
state, peak memory and error. vcjax runs without a compilation cache, and then with a cache that an
earlier process has filled. The study needs `pip install virtual-casing`.

Times are medians over the processes. They are CPU seconds with one thread, and elapsed seconds with
more threads. Elapsed seconds need a quiet machine. Rerun to resume: rows are used again for the
same code of vcjax, the same versions of JAX and the same machine. Other rows stay in the file.
"""

from __future__ import annotations

import argparse
import compileall
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cases.off_surface import points_at_distance
from benchmarks.common import ONE_THREAD_ENVIRONMENT
from benchmarks.measuring.checkout import ROOT, code_version
from jaxmeter import host_environment
from studies.compare import tables
from studies.harness import RESULTS, Row, StudyError, append_row, read_rows, run_module
from vcjax import problems

OPERATIONS = ("B", "grad B", "off surface", "gradient in X")
_CACHED = "vcjax, cached"
PROGRAMS = ("vcjax", _CACHED, "C++")
POINTS, DISTANCE = 300, 0.3
"""Number of points, all inside the surface, and their distance from it in minor radii."""
_MINOR_RADIUS = 0.5
_NO_EXACT_RESULT = "gradient in X"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this study to its parser."""
    add = parser.add_argument
    add("--digits", type=int, nargs="+", default=[3, 6])
    add("--operations", nargs="+", choices=OPERATIONS, default=OPERATIONS)
    add("--threads", type=int, nargs="+", default=[1], help="number of CPUs for each process")
    add("--rounds", type=int, default=1, help="number of processes for each program")
    add(
        "--repeat", type=int, default=3, help="steady-state set-ups and evaluations in each process"
    )
    add("--timeout", type=float, default=900.0, help="time limit of each process, seconds")
    add("--out", type=Path, default=RESULTS / "compare" / "rows.csv")


def run(options: argparse.Namespace) -> int:
    """Measure the rows that the file does not contain for this code, and print the table."""
    if min(options.rounds, options.repeat) < 1:
        raise StudyError(
            f"got --rounds {options.rounds} and --repeat {options.repeat}; give numbers from 1 on"
        )
    available = os.cpu_count() or 1
    for threads in options.threads:
        if not 1 <= threads <= available:
            raise StudyError(
                f"got --threads {threads}; give a number from 1 to {available}, the number of CPUs "
                "of this machine"
            )
    key, code = ("operation", "digits", "threads", "round"), code_version()
    # Compile to bytecode now, as pip does at installation, so that no measured process does it.
    compileall.compile_dir(ROOT / "vcjax", quiet=1)
    rows = [row for row in read_rows(options.out) if row.get("code") == code]
    held = {tuple(row[name] for name in key) for row in rows}
    cases = list(itertools.product(options.threads, options.digits, options.operations))
    for number, (threads, digits, operation) in itertools.product(range(options.rounds), cases):
        if (operation, str(digits), str(threads), str(number)) in held:
            continue
        name = f"{operation}, {digits} digits, threads: {threads}, round {number + 1}"
        print(name, file=sys.stderr, flush=True)
        for row in _compared(operation, digits, threads, options):
            rows.append({"round": number, **row, "code": code})
            append_row(options.out, rows[-1])
    for processor, text in tables.by_processor(rows).items():
        print(f"{processor}\n\n{text}")
    return 0


def _compared(operation: str, digits: int, threads: int, options: argparse.Namespace) -> list[Row]:
    """Measure an operation with each program that has it; return a row for each program."""
    problem = problems.w7x(digits)
    points = points_at_distance(problem, DISTANCE * _MINOR_RADIUS, POINTS, inside=True)
    case = {"operation": operation, "digits": digits, "threads": threads}
    with tempfile.TemporaryDirectory() as scratch:
        inputs, result = f"{scratch}/inputs.npz", f"{scratch}/result.npy"
        np.savez(inputs, X=problem.X, B=problem.B, points=points)
        grid = ("nfp", "half_period", "trg_nphi", "trg_ntheta")
        given = {**case, **{name: getattr(problem, name) for name in grid}}
        given |= {"repeat": options.repeat, "inputs": inputs, "result": result}
        rows = []
        for program in PROGRAMS[: 2 if operation == _NO_EXACT_RESULT else 3]:
            given["program"] = program
            if program == _CACHED:
                _process(given, f"{scratch}/cache", options.timeout)  # fills the cache
            numbers = _process(given, f"{scratch}/cache", options.timeout)
            error = _error(problem, operation, np.load(result), points)
            where = {"processor": host_environment().cpu_model}
            rows.append({**case, "program": program, **numbers, "error_relative": error, **where})
    return rows


def _process(given: dict[str, Any], cache: str, timeout_seconds: float) -> dict[str, float]:
    """Run `studies.compare.process` with the given arguments, and return its numbers.

    Only the program "vcjax, cached" uses the compilation cache, in the folder `cache`.
    """
    threads = given["threads"]
    counts = ONE_THREAD_ENVIRONMENT if threads == 1 else {"OMP_NUM_THREADS": str(threads)}
    variables = {
        **counts,
        "JAX_PLATFORMS": "cpu",
        "JAX_COMPILATION_CACHE_DIR": cache,
        "JAX_ENABLE_COMPILATION_CACHE": str(given["program"] == _CACHED),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "PYTHONWARNINGS": "ignore",  # vcjax warns that the grid of B is coarse
    }
    printed = run_module(
        ["studies.compare.process"],
        given | {"started": time.time()},
        name=given["program"],
        env=variables,
        timeout_seconds=timeout_seconds,
        stdout=subprocess.PIPE,
    )
    return json.loads(printed)


def _error(problem: Any, operation: str, result: np.ndarray, points: np.ndarray) -> float | None:
    """Return the largest error, divided by the largest component of the total field or gradient.

    Return None for the gradient in X, because its exact result is not known.
    """
    if operation == _NO_EXACT_RESULT:
        return None
    if operation == "B":
        return float(problem.external_error(result))
    if operation == "grad B":
        return float(problem.external_gradient_error(result))
    exact = problems.magnetic_field(problem.outside, points)
    return float(np.abs(result - exact).max() / np.abs(problem.B).max())
