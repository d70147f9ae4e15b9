"""Measure compile times of a function that captures 256 MB, before and after hoisting.

The function has three forms: ``captured`` captures the array, ``hoisted`` is the result of
`jaxmeter.hoist`, and ``by_hand`` was written with the array as an argument. `jaxmeter.compare`
compares the hoisted form with each of the other two forms, in fresh processes. docs/trust.md shows
the result.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

import jaxmeter
from jaxmeter import Case, ComparedProcess, Effort, Phases
from studies.harness import RESULTS, Row, StudyError, write_rows

BYTES = 256_000_000
COLUMNS = 8000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this study to its parser."""
    about = "file for the rows; default results/trust/hoisting.csv"
    parser.add_argument("--out", type=Path, default=RESULTS / "trust" / "hoisting.csv", help=about)


def run(options: argparse.Namespace) -> int:
    """Make both comparisons, and write one row for the two processes with the same number."""
    found = []
    for other, compiles in (("by_hand", 9), ("captured", 1)):
        comparison = jaxmeter.compare(
            f"{__name__}:{other}",
            f"{__name__}:hoisted",
            effort=Effort(turns=1, compiles=compiles, compile_seconds=60.0),
            env={"JAX_ENABLE_COMPILATION_CACHE": "false"},
            on_process=lambda number, other=other: print(f"{other}, process {number}", flush=True),
        )
        for record in comparison.failures:
            why = record.failure.message if record.failure else record.status
            raise StudyError(
                f"the function 'hoisted' could not be compared with {other!r}: {why}; fix this "
                "error, then run the study again"
            )
        found.append(comparison.processes)
    write_rows(options.out, [row(n, *both) for n, both in enumerate(zip(*found, strict=True))])
    print(options.out.read_text(), end="")
    return 0


def row(number: int, by_hand: ComparedProcess, captured: ComparedProcess) -> Row:
    """Return the row of two processes with the same number, one from each comparison."""
    sides = by_hand.b_compiles, by_hand.a_compiles
    pairs = np.array([[_total(phases) for phases in side] for side in sides])
    hoisted_seconds, by_hand_seconds = np.median(pairs, axis=1)
    environment = by_hand.a.environment
    return {
        "process": number,
        "captured_seconds": _total(captured.a_compiles[0]),
        "hoisted_seconds": hoisted_seconds,
        "by_hand_seconds": by_hand_seconds,
        "ratio": np.median(pairs[0] / pairs[1]),
        "bit_equal_to_by_hand": _bit_equal(by_hand),
        "bit_equal_to_captured": _bit_equal(captured),
        "captured_bytes": captured.a.constants.captured_bytes,
        "load_1min": environment and environment.load_1min_before,
        "jax": environment and environment.jax,
    }


def _total(phases: Phases) -> float:
    return sum(getattr(phases, name) or 0.0 for name in jaxmeter.PHASES)


def _bit_equal(process: ComparedProcess) -> bool:
    answers = process.answers
    return answers is not None and answers.a_fingerprint == answers.b_fingerprint


def captured() -> Case:
    """Return the case of the function with its array captured."""
    matrix, x = _arrays()
    return Case(lambda x: _product(matrix, x), (x,))


def by_hand() -> Case:
    """Return the case of the function with its array as an argument."""
    return Case(_product, _arrays())


def hoisted() -> Case:
    """Return the case of the captured form after `jaxmeter.hoist`."""
    case = captured()
    function, constants = jaxmeter.hoist(case.fn, *case.args)
    return Case(function, (constants, *case.args))


def _product(matrix: Any, x: Any) -> Any:
    return jnp.tanh(matrix @ x) * matrix[:, 0]


def _arrays() -> tuple[Any, Any]:
    draw = np.random.default_rng(0)
    matrix = jnp.asarray(draw.normal(size=(BYTES // 4 // COLUMNS, COLUMNS)).astype("float32"))
    return matrix, jnp.asarray(draw.normal(size=COLUMNS).astype("float32"))
