"""Run a process of the comparison: import a program, set it up and evaluate it.

Further set-ups and evaluations give the times in the steady state. Arguments come as JSON on
standard input; the inputs and the result are NumPy files. Besides the standard library, the process
imports only the program and NumPy, as a user's process does. Times are CPU seconds with one thread,
and elapsed seconds with more threads.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np


def main() -> None:
    """Measure a program, write its result to a file, and print the measured numbers as JSON."""
    given = SimpleNamespace(**json.load(sys.stdin))
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-given.threads :])
    clock = time.process_time if given.threads == 1 else time.time

    def timed(call: Callable) -> tuple[Any, float]:
        started = clock()
        result = call()
        return result, clock() - started

    inputs = np.load(given.inputs)
    program = _reference if given.program == "C++" else _vcjax
    set_up, imported = timed(lambda: program(given, inputs))
    before = status_bytes("VmRSS")
    evaluate, cold_set_up = timed(set_up)
    result, cold_evaluation = timed(evaluate)
    peak = status_bytes("VmHWM") - before
    whole = clock() - (0.0 if given.threads == 1 else given.started)
    steady = []
    for _ in range(given.repeat):
        evaluate, set_up_again = timed(set_up)
        steady.append(set_up_again + timed(evaluate)[1])
    further = [timed(evaluate)[1] for _ in range(given.repeat)]
    np.save(given.result, result)
    numbers = {
        "whole_process_seconds": whole,
        "import_seconds": imported,
        "first_seconds": cold_set_up + cold_evaluation,
        "setup_and_evaluation_seconds": float(np.median(steady)),
        "evaluation_seconds": float(np.median(further)),
        "peak_bytes": peak,
    }
    json.dump(numbers, sys.stdout)


def _vcjax(given: SimpleNamespace, inputs: Any) -> Callable:
    """Return the set-up function of vcjax.

    The set-up function prepares the operation, and returns a function that evaluates the operation.
    """
    import jax

    jax.config.update("jax_enable_x64", True)
    import vcjax

    X, B, points = inputs["X"], inputs["B"], inputs["points"]
    symmetry = {"nfp": given.nfp, "half_period": given.half_period}
    targets = {"trg_nphi": given.trg_nphi, "trg_ntheta": given.trg_ntheta}

    def on_surface(prepare: Callable, evaluate: Callable, gradient: bool) -> Callable:
        rule = vcjax.choose(X, B, given.digits, **symmetry, **targets, gradient=gradient)
        casing = jax.block_until_ready(prepare(rule, X))
        return lambda: np.asarray(evaluate(casing, B))

    def off_surface() -> Callable:
        rule = vcjax.choose_off_surface(X, B, given.digits, **symmetry)
        casing = jax.block_until_ready(vcjax.prepare_off_surface(rule, X))
        return lambda: np.asarray(vcjax.field_at(casing, B, points).external)

    def external_square(X, B, rule):
        return (vcjax.external_field(vcjax.prepare(rule, X), B) ** 2).sum()

    derivative = jax.jit(jax.grad(external_square), static_argnums=2)

    def gradient_in_X() -> Callable:
        rule = vcjax.choose(X, B, given.digits, **symmetry, **targets)
        return lambda: np.asarray(derivative(X, B, rule))

    return {
        "B": partial(on_surface, vcjax.prepare, vcjax.external_field, False),
        "grad B": partial(on_surface, vcjax.prepare_gradient, vcjax.external_gradient, True),
        "off surface": off_surface,
        "gradient in X": gradient_in_X,
    }[given.operation]


def _reference(given: SimpleNamespace, inputs: Any) -> Callable:
    """Return the set-up function of the C++ package.

    The set-up function sets up the surface, and returns a function that evaluates the operation.
    The package takes and returns flat lists, in which the component is the first index.
    """
    virtual_casing: Any = importlib.import_module("virtual_casing")

    X, B = inputs["X"], inputs["B"]
    surface, field = (np.moveaxis(v, -1, 0).ravel().tolist() for v in (X, B))
    points, targets = inputs["points"].T.ravel().tolist(), (given.trg_nphi, given.trg_ntheta)

    def set_up() -> Callable:
        casing = virtual_casing.VirtualCasing()
        surface_grid = given.digits, given.nfp, given.half_period, *X.shape[:2], surface
        casing.setup(*surface_grid, *B.shape[:2], *targets)

        def evaluate() -> np.ndarray:
            if given.operation == "off surface":
                return np.reshape(casing.compute_external_B_offsurf(field, points), (3, -1)).T
            if given.operation == "B":
                found = np.reshape(casing.compute_external_B(field), (3, *targets))
                return np.moveaxis(found, 0, -1)
            # The gradient of a curl-free field is symmetric, so the order of axes does not matter.
            found = np.reshape(casing.compute_external_gradB(field), (9, *targets))
            return np.moveaxis(found, 0, -1).reshape(*targets, 3, 3)

        return evaluate

    return set_up


def status_bytes(name: str) -> int:
    """Return the resident memory of this process in bytes: `VmRSS` now, or `VmHWM` at the peak.

    Only Linux reports these values. On other systems, return the peak of `getrusage`. On Linux,
    `getrusage` would include the peak of the process that started this process.
    """
    try:
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith(name)) * 1024
    except (OSError, StopIteration):
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


if __name__ == "__main__":
    main()
