"""Measure an operator at all tile sizes, interleaved in one worker process."""

from __future__ import annotations

import dataclasses
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxmeter
import vcjax
from benchmarks.cases import preparing
from benchmarks.cases.quantities import FIELD, GRADIENT
from benchmarks.workloads.casing import problem_named
from jaxmeter import Case, tables
from studies.harness import Row
from vcjax._options import Operator, resolve_tiles
from vcjax.problems import Problem

FAR = {"B": "far_field", "BOFF": "far_field", "GRADB": "far_gradient"}
POINTS_COUNT = 800


def process_rows(
    operator: Operator,
    process: int,
    case: str,
    digits: int | None,
    repeat: int,
    sizes: Sequence[Sequence[int]],
    code: str,
) -> Iterator[Row]:
    """Measure an operator at the tile sizes `sizes` and "auto", and yield one row with all results.

    Only process 0 lists buffers and records profiler traces, because recording traces of small
    tiles takes longer than everything else. `code` identifies the measured version of the code and
    the platform.
    """
    arguments = dict(locals())
    evaluation = _evaluation(operator, problem_named(case, digits=digits))
    inputs = evaluation.args
    # The size of "auto" inside `jit`. On CPUs, calls outside `jit` may use another size.
    auto = resolve_tiles("studies chunks", operator, "auto", "auto")[:2]
    found: dict[tuple[int, ...], Row] = {}
    runs = {}
    for pair in dict.fromkeys([auto, *map(tuple, sizes)]):
        runs[pair], numbers = _described(evaluation, pair, lists_buffers=process == 0)
        found[pair] = {"chunk_size": pair[0], "target_chunk_size": pair[1], **numbers}
    seconds: dict[tuple[int, ...], list[float]] = {pair: [] for pair in runs}
    for number in range(repeat):
        # The order alternates, so that linear drift nearly cancels.
        for pair in list(runs)[:: 1 if number % 2 == 0 else -1]:
            started = time.perf_counter()
            jax.block_until_ready(runs[pair](*inputs))
            seconds[pair].append(time.perf_counter() - started)
    for pair in runs if process == 0 else ():
        found[pair] |= _traced(runs[pair], inputs, FAR[operator])
    rows = [{**found[pair], "seconds": seconds[pair]} for pair in runs]
    yield {**arguments, "auto": list(auto), "found": rows}


def _evaluation(operator: str, problem: Problem) -> Case:
    """Return the case of an operator; the case's function also takes the tile size, by keyword."""
    if operator == "BOFF":
        return _off_surface(problem)
    quantity = GRADIENT if operator == "GRADB" else FIELD
    casing = quantity.prepare(preparing.choose(problem, quantity), jnp.asarray(problem.X))

    def check(result):
        return {"error": quantity.error(problem, result)}

    return Case(quantity.evaluate, (casing, jnp.asarray(problem.B)), check=check)


def _off_surface(problem: Problem) -> Case:
    """Return the case of the field at points on both sides of the surface, near and far."""
    rule = preparing.choose_off_surface(problem)
    casing = vcjax.prepare_off_surface(rule, jnp.asarray(problem.X))
    surface = np.asarray(problem.X).reshape(-1, 3)
    middle = surface.mean(axis=0)
    shares = np.linspace(0.5, 1.5, POINTS_COUNT)
    points = middle + shares[:, None] * (np.resize(surface, (POINTS_COUNT, 3)) - middle)

    def check(result):
        return {"error": float(jnp.max(result.error))}

    return Case(vcjax.field_at, (casing, jnp.asarray(problem.B), jnp.asarray(points)), check=check)


def _described(evaluation: Case, pair: tuple[int, ...], lists_buffers: bool):
    """Jit and measure the case's function for a tile size; return the function and the numbers.

    If `lists_buffers`, the numbers include the size of the largest temporary.
    """
    run = jax.jit(partial(evaluation.fn, chunk_size=pair[0], target_chunk_size=pair[1]))
    record = jaxmeter.measure(dataclasses.replace(evaluation, fn=run), repeat=1)
    jaxmeter.reset_peak_rss()
    before = jaxmeter.rss_bytes()
    jax.block_until_ready(run(*evaluation.args))
    after = jaxmeter.peak_rss_bytes()
    program = record.program
    numbers = {
        "temp_bytes": record.memory.temp_bytes,
        "run_peak_bytes": None if before is None or after is None else after - before,
        "flops": program.flops,
        "accessed_bytes": program.accessed_bytes,
        "instructions_count": program.hlo_instructions_count,
        "fusions_count": program.fusions_count,
        "error_relative": record.checks["error"],
    }
    if lists_buffers:
        buffers = jaxmeter.memory(run, *evaluation.args, run=False).buffers
        temporaries = [one.bytes for one in buffers if one.kind == "temporary"]
        numbers["largest_temp_bytes"] = max(temporaries, default=None)
    return run, {name: float(value) for name, value in numbers.items() if value is not None}


def _traced(run, inputs: tuple[Any, ...], far: str) -> dict[str, float]:
    """Profile a run; return the far field's share of the time and the number of kernel launches."""
    with tempfile.TemporaryDirectory(prefix="vcjax-trace-") as folder:
        with jax.profiler.trace(folder):
            jax.block_until_ready(run(*inputs))
        found = tables.trace_tables(tables.read_trace(tables.trace_file(Path(folder))))
    scopes = found["trace_scopes"].to_dict("records")
    share = sum(row["self_fraction"] for row in scopes if far in row["scope"].split("/"))
    launches = sum(found["kernels"]["launches_count"].tolist())
    return {"far_fraction": share, "kernels_count": float(launches)}
