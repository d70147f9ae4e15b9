r"""Profile one operation of vcjax on one problem with a known answer.

The record has the constants, the memory, the error of the result, and the times of all phases.
Without --jit, the constants, the memory, and the times of tracing, lowering and compiling are not
measured. A trace is written if --trace-dir is given. Two examples:

    python profiling/profile_vc.py --case case_vc --op B --jit --repeat 5 \
        --chunk-size auto --target-chunk-size auto --trace-dir DIR
    python profiling/profile_vc.py --case w7x --op GradBOFF --jit --points 1000 --distance 0.05

Operations:

    B, B_int    the external and the internal field on the surface
    GradB       the gradient of the external field on the surface
    BOFF        both fields at points off the surface
    GradBOFF    the gradients of both fields at points off the surface
    GradX       the gradient of a scalar with respect to the points of the surface; the scalar is
                computed from the external field

docs/parameters.md describes the options of vcjax. Open a trace with ``tensorboard --logdir DIR``,
which needs the packages tensorboard and xprof.
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

import scripting
import vcjax
from benchmarks.cases import off_surface, preparing, shape
from benchmarks.cases.quantities import FIELD, GRADIENT
from benchmarks.workloads.casing import CASES, problem_named
from jaxmeter import (
    Case,
    JaxmeterError,
    Phases,
    Record,
    host_environment,
    jax_environment,
    measure,
    table,
)
from scripting import count
from vcjax.problems import Problem, magnetic_field, magnetic_field_gradient


class Operation(NamedTuple):
    """An operation, with the functions that it calls.

    `prepare` and `evaluate` are functions of vcjax. Each gets only the command-line options that
    are among its parameters.
    """

    make: Callable[..., Case]
    """``make(operation, problem, options)`` returns the case of the operation."""
    prepare: Callable[..., Any]
    evaluate: Callable[..., Any]
    error: Callable[..., Any]
    """Compute the error of a result. The arguments depend on the function in `make`."""


POINT_OPTIONS = ("point_count", "distance")


def taken(function: Callable[..., Any], options: argparse.Namespace) -> dict[str, Any]:
    """Return the given options that are parameters of `function`, a function of vcjax."""
    names = inspect.signature(function).parameters
    return {name: value for name, value in vars(options).items() if name in names and value}


def on_surface(operation: Operation, problem: Problem, options: argparse.Namespace) -> Case:
    """Return the case of a field or a gradient on the surface, with a prepared casing."""
    prepare = partial(operation.prepare, **taken(operation.prepare, options))
    quantity = GRADIENT if operation.prepare is vcjax.prepare_gradient else FIELD
    prepared = preparing.prepare(problem, dataclasses.replace(quantity, prepare=prepare))

    def check(result) -> dict[str, float]:
        estimate = vcjax.error_estimate(prepared.casing, problem.B)
        error = operation.error(problem, result)
        return {"error_relative": error, "error_estimate_relative": estimate}

    evaluate = partial(operation.evaluate, **taken(operation.evaluate, options))
    return Case(evaluate, (prepared.casing, prepared.B), check=check, extras=prepared.extras)


def at_points(operation: Operation, problem: Problem, options: argparse.Namespace) -> Case:
    """Return the case of fields or gradients at points on both sides of the surface."""
    gradient = operation.evaluate is vcjax.gradient_at
    choose = partial(preparing.choose_off_surface, problem, gradient=gradient)
    choose_seconds, rule = preparing.timed(choose)
    X, B = jnp.asarray(problem.X), jnp.asarray(problem.B)
    prepare = partial(operation.prepare, rule, X, **taken(operation.prepare, options))
    (first_seconds, _), (seconds, casing) = (preparing.timed(prepare) for _ in range(2))
    distance = 0.1 if options.distance is None else options.distance
    points = off_surface.points_at_distance(problem, distance, options.point_count or 64)

    def check(found: vcjax.OffSurface) -> dict[str, float]:
        error = off_surface.error_at(problem, points, found, operation.error)
        return {"error_relative": error, "error_estimate_relative": float(found.error.max())}

    extras = {
        "choose_seconds": choose_seconds,
        "prepare_seconds": seconds,
        "prepare_compile_seconds": first_seconds - seconds,
        "casing_bytes": preparing.array_bytes(casing),
    }
    evaluate = partial(operation.evaluate, **taken(operation.evaluate, options))
    return Case(evaluate, (casing, B, jnp.asarray(points)), check=check, extras=extras)


def in_surface(operation: Operation, problem: Problem, options: argparse.Namespace) -> Case:
    """Return the case of a gradient with respect to the points of the surface.

    The differentiated function prepares the casing, computes the field, and returns a weighted sum
    of the field's squared components. The check compares the gradient with forward-mode
    differentiation along one direction.
    """
    rule, extras = preparing.chosen(problem)
    value, arguments = shape.scalar_of_field(
        problem,
        rule,
        prepare=partial(operation.prepare, **taken(operation.prepare, options)),
        evaluate=partial(operation.evaluate, **taken(operation.evaluate, options)),
    )

    def check(result) -> dict[str, float]:
        return {"modes_error_relative": operation.error(problem, value, arguments, result)}

    return Case(jax.grad(value), arguments, check=check, extras=extras)


OPERATIONS = {
    "B": Operation(on_surface, vcjax.prepare, vcjax.external_field, Problem.external_error),
    "B_int": Operation(on_surface, vcjax.prepare, vcjax.internal_field, Problem.internal_error),
    "GradB": Operation(
        on_surface, vcjax.prepare_gradient, vcjax.external_gradient, Problem.external_gradient_error
    ),
    "BOFF": Operation(at_points, vcjax.prepare_off_surface, vcjax.field_at, magnetic_field),
    "GradBOFF": Operation(
        at_points, vcjax.prepare_off_surface, vcjax.gradient_at, magnetic_field_gradient
    ),
    "GradX": Operation(in_surface, vcjax.prepare, vcjax.external_field, shape.modes_difference),
}


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the command-line options."""
    parser = scripting.parser_of(__doc__)
    add = parser.add_argument
    add("--case", choices=CASES, default="case_vc", help="the problem; default: case_vc")
    add("--op", choices=OPERATIONS, default="B", help="the operation; default: B")
    add("--jit", action="store_true", help="jit the operation and time its phases")
    add("--repeat", type=count, default=5, help="steady-state runs to time; default: 5")
    add("--digits", type=int, help="number of digits; the default depends on the case")
    add("--half-period", action=argparse.BooleanOptionalAction, help="cover half a field period")
    add("--chunk-size", type=_size, default="auto", help='sources in a tile, or "auto"')
    add("--target-chunk-size", type=_size, default="auto", help='targets in a tile, or "auto"')
    add(
        "--near-weights",
        choices=("float64", "float32", "streamed"),
        help="how the near weights are stored",
    )
    add("--near-block-size", type=_size, help='targets in a block of near weights, or "auto"')
    add("--far-dtype", choices=("float64", "float32", "auto"), help="precision of the far field")
    add("--points", type=count, dest="point_count", help="points off the surface; default: 64")
    add(
        "--distance",
        type=float,
        help="distance of the points from the surface, in the unit of the surface's coordinates; "
        "default: 0.1",
    )
    add("--device", choices=("cpu", "gpu"), help="where to run; by default JAX chooses")
    add("--devices", type=count, help="number of devices that share the targets or points")
    add("--trace-dir", type=Path, help="write a JAX trace into this folder")
    add("--json", type=Path, help="file for the record; by default in results/profile")
    options = parser.parse_args(argv)
    operation = OPERATIONS[options.op]
    known = {*taken(operation.prepare, options), *taken(operation.evaluate, options)}
    known |= set(POINT_OPTIONS) if operation.make is at_points else set()
    for name in ("near_weights", "near_block_size", "far_dtype", *POINT_OPTIONS):
        if getattr(options, name) is not None and name not in known:
            option = {"point_count": "points"}.get(name, name.replace("_", "-"))
            raise JaxmeterError(
                f"--{option}: got {getattr(options, name)}, but the operation {options.op} has no "
                "such option; leave it out"
            )
    if options.json is not None and options.json.is_dir():
        raise JaxmeterError(f"--json: got {options.json}, which is a folder; give a file")
    if options.trace_dir is not None and options.trace_dir.is_file():
        raise JaxmeterError(f"--trace-dir: got {options.trace_dir}, a file; give a folder")
    return options


def _size(text: str) -> int | str:
    if text != "auto" and (not text.isdecimal() or int(text) < 1):
        raise argparse.ArgumentTypeError(f'got {text!r}; give "auto" or a whole number, 1 or more')
    return text if text == "auto" else int(text)


def start_jax(options: argparse.Namespace) -> list[Any] | None:
    """Start JAX, and return the devices that ``--devices`` requests; None without this option."""
    jax.config.update("jax_enable_x64", True)
    if options.device is not None:
        jax.config.update("jax_platforms", {"gpu": "cuda"}.get(options.device, options.device))
    try:
        if options.devices is not None:
            jax.config.update("jax_num_cpu_devices", options.devices)
        found = jax.devices()
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
        raise JaxmeterError(
            f"JAX cannot start ({reason}); check --device, --devices and JAX_PLATFORMS"
        ) from error
    if options.devices is not None and len(found) < options.devices:
        raise JaxmeterError(
            f"--devices: got {options.devices}; give at most {len(found)}, as many as JAX finds"
        )
    return None if options.devices is None else found[: options.devices]


def profile(options: argparse.Namespace) -> None:
    """Measure an operation, print and write its record, and write a trace on request."""
    operation = OPERATIONS[options.op]
    params = {"workload": options.case, **vars(options)}
    for name in ("case", "repeat", "json", "trace_dir"):
        del params[name]
    options.devices = start_jax(options)
    problem = problem_named(options.case, digits=options.digits, half_period=options.half_period)
    params |= {"digits": problem.digits, "half_period": problem.half_period}
    case = operation.make(operation, problem, options)
    name = f"profile/{options.case}-{options.op}"
    time = measure if options.jit else measure_eager
    record = dataclasses.replace(time(case, repeat=options.repeat, name=name), params=params)
    path = options.json or scripting.RESULTS / f"{options.case}-{options.op}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(record.to_json(indent=1), encoding="utf-8")
    print(f"{table(record)}\nrecord: {path}")
    if options.trace_dir is not None:
        trace(case, options, name)
        print(f"trace: to open it, run tensorboard --logdir {options.trace_dir}")


def measure_eager(case: Case, *, repeat: int, name: str) -> Record:
    """Time calls outside of jit and check the last result; vcjax still jits its own parts."""
    timed = [preparing.timed(lambda: case.fn(*case.args)) for _ in range(1 + repeat)]
    assert case.check is not None
    return Record(
        name=name,
        status="ok",
        phases=Phases(first_call_seconds=timed[0][0]),
        samples_seconds=tuple(seconds for seconds, _ in timed[1:]),
        checks=dict(case.check(timed[-1][1])),
        extras=dict(case.extras),
        environment=dataclasses.replace(host_environment(), **jax_environment()),
    )


def trace(case: Case, options: argparse.Namespace, name: str) -> None:
    """Write a JAX trace of steady-state runs, each marked as a step."""
    evaluate = jax.jit(case.fn) if options.jit else case.fn
    jax.block_until_ready(evaluate(*case.args))
    with jax.profiler.trace(str(options.trace_dir)):
        for step in range(options.repeat):
            with jax.profiler.StepTraceAnnotation(f"vcjax {name}", step_num=step):
                jax.block_until_ready(evaluate(*case.args))


def work(argv: Sequence[str] | None) -> bool:
    """Profile an operation, and return True.

    An error of vcjax or of a file is raised as a `JaxmeterError`.
    """
    try:
        profile(parse(argv))
    except (vcjax.VcjaxError, OSError) as error:
        raise JaxmeterError(str(error)) from error
    return True


main = partial(scripting.run, "profile_vc", work)

if __name__ == "__main__":
    sys.exit(main())
