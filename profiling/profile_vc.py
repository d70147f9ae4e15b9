"""Profile one virtual casing evaluation: phases, steady-state times, constants, and a trace on
request.

    python profiling/profile_vc.py --case case_vc --op B --jit --repeat 5 \
        --chunk-size auto --target-chunk-size auto --trace-dir DIR

Open the trace with ``tensorboard --logdir DIR`` (packages tensorboard and xprof).
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

# Run by path from a clone: the suites' workloads lie beside this folder. What is installed wins.
ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT), str(ROOT / "jaxmeter" / "src")]

import jax  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

import jaxmeter  # noqa: E402
import vcjax  # noqa: E402
from benchmarks.cases import preparing  # noqa: E402
from benchmarks.workloads.casing import CASES  # noqa: E402
from jaxmeter import host_environment, jax_environment  # noqa: E402

OPERATIONS = {"B": vcjax.external_field, "B_int": vcjax.internal_field}


class UsageError(Exception):
    """The command line asks for something that does not exist; the message says what does."""


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """The options, with names and numbers checked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.error = _usage_error  # type: ignore[method-assign]
    parser.add_argument("--case", default="case_vc", help=f"one of {', '.join(CASES)}")
    parser.add_argument("--op", default="B", help="B (external field) or B_int (internal field)")
    parser.add_argument("--jit", action="store_true", help="jit the evaluation and time its phases")
    parser.add_argument("--repeat", type=int, default=5, help="steady evaluations to time")
    parser.add_argument("--chunk-size", type=_chunk, default="auto", help='sources or "auto"')
    parser.add_argument("--target-chunk-size", type=_chunk, default="auto", help='or "auto"')
    parser.add_argument("--trace-dir", type=Path, help="write a JAX trace into this folder")
    parser.add_argument("--digits", type=int, help="digits of the case, where it lets you choose")
    parser.add_argument("--json", type=Path, help="record's file; else in results/profile")
    parser.add_argument("--device", choices=("cpu", "gpu"), help="where to run; else JAX's choice")
    options = parser.parse_args(argv)
    if options.case not in CASES:
        raise UsageError(f"--case {options.case}: no such case; give one of {', '.join(CASES)}")
    if options.op not in OPERATIONS:
        raise UsageError(f"--op {options.op}: no such operation; give {' or '.join(OPERATIONS)}")
    if options.repeat < 1:
        raise UsageError(f"--repeat {options.repeat}: give at least 1")
    if options.json is not None and options.json.is_dir():
        raise UsageError(f"--json {options.json}: that is a folder; give a file")
    if options.trace_dir is not None and options.trace_dir.is_file():
        raise UsageError(f"--trace-dir {options.trace_dir}: that is a file; give a folder")
    return options


def _usage_error(message: str) -> None:
    raise UsageError(message)


def _chunk(text: str) -> int | str:
    if text == "auto":
        return text
    try:
        size = int(text)
    except ValueError:
        size = 0
    if size < 1:
        raise argparse.ArgumentTypeError(f'got {text!r}; give "auto" or a number of at least 1')
    return size


def profile(options: argparse.Namespace, console: Console) -> Path:
    """Prepare, measure, trace, print; return the record's path."""
    problem = CASES[options.case](**({} if options.digits is None else {"digits": options.digits}))
    prepared = preparing.prepare(problem)
    chunks = {
        "chunk_size": options.chunk_size,
        "target_chunk_size": options.target_chunk_size,
    }
    operation = OPERATIONS[options.op]

    def evaluate(casing, B):
        return operation(casing, B, **chunks)

    error = problem.external_error if options.op == "B" else problem.internal_error
    case = jaxmeter.Case(
        fn=evaluate,
        args=(prepared.casing, prepared.B),
        check=lambda field: {
            "error_relative": error(field),
            "error_estimate_relative": vcjax.error_estimate(prepared.casing, problem.B),
        },
        extras=prepared.extras,
    )
    name = f"profile/{options.case}-{options.op}"
    if options.jit:
        record = jaxmeter.measure(case, repeat=options.repeat, name=name)
    else:
        record = measure_eager(case, options.repeat, name)
    params = {"workload": options.case, "op": options.op, "jit": options.jit, **chunks}
    record = replace(record, params={**params, "digits": problem.digits})
    console.print(table(record))
    path = options.json or Path("results/profile") / f"{options.case}-{options.op}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(record.to_json(indent=1), encoding="utf-8")
    console.print(f"record: {path}", markup=False, highlight=False, soft_wrap=True)
    if options.trace_dir is not None:
        trace(case, options, name)
        text = f"trace: tensorboard --logdir {options.trace_dir}"
        console.print(text, markup=False, highlight=False, soft_wrap=True)
    return path


def measure_eager(case: jaxmeter.Case, repeat: int, name: str) -> jaxmeter.Record:
    """First and steady-state calls without a jit around them; vcjax still jits its own parts."""
    environment = replace(host_environment(), **jax_environment())
    call = lambda: case.fn(*case.args)  # noqa: E731
    first, _ = preparing.timed(call)
    steady = [preparing.timed(call) for _ in range(repeat)]
    assert case.check is not None
    return jaxmeter.Record(
        name=name,
        status="ok",
        phases=jaxmeter.Phases(first_call_seconds=first),
        samples_seconds=tuple(seconds for seconds, _ in steady),
        checks=dict(case.check(steady[-1][1])),
        extras=dict(case.extras),
        environment=environment,
    )


def trace(case: jaxmeter.Case, options: argparse.Namespace, name: str) -> None:
    """Write a JAX trace of the steady evaluations, each under an annotation of its own."""
    evaluate = jax.jit(case.fn) if options.jit else case.fn
    jax.block_until_ready(evaluate(*case.args))
    with jax.profiler.trace(str(options.trace_dir)):
        for step in range(options.repeat):
            with jax.profiler.StepTraceAnnotation(f"vcjax {name}", step_num=step):
                jax.block_until_ready(evaluate(*case.args))


def table(record: jaxmeter.Record) -> Table:
    """Phases, steady-state times, sizes and the error of a record, a row each."""
    view = Table("quantity", "value", title=f"{record.name}, {record.params['digits']} digits")
    view.columns[1].justify = "right"
    phases, samples = record.phases, record.samples_seconds
    rows: list[tuple[str, float | None, Callable[[float], str]]] = [
        ("choose", record.extras["choose_seconds"], _seconds),
        ("prepare, first beyond steady", record.extras["prepare_compile_seconds"], _seconds),
        ("prepare, steady", record.extras["prepare_seconds"], _seconds),
        ("trace", phases.trace_seconds, _seconds),
        ("lower", phases.lower_seconds, _seconds),
        ("compile", phases.compile_seconds, _seconds),
        ("first call", phases.first_call_seconds, _seconds),
        (f"steady-state median of {len(samples)}", statistics.median(samples), _seconds),
        ("steady least", min(samples), _seconds),
        ("steady standard deviation", _spread(samples), _seconds),
        ("casing", record.extras["casing_bytes"], _megabytes),
        ("captured constants", record.constants.captured_bytes, _megabytes),
        ("temporary memory", record.memory.temp_bytes, _megabytes),
        ("error relative to max|B|", record.checks["error_relative"], "{:.2e}".format),
        ("its estimate, for B", record.checks["error_estimate_relative"], "{:.2e}".format),
    ]
    for label, value, form in rows:
        if value is not None:
            view.add_row(label, form(value))
    return view


def _seconds(value: float) -> str:
    return f"{value:.4f} s"


def _megabytes(value: float) -> str:
    return f"{value / 1e6:.3f} MB"


def _spread(samples: Sequence[float]) -> float | None:
    return statistics.stdev(samples) if len(samples) > 1 else None


def _start_backend() -> None:
    """Fail in one line, before any work, where JAX finds no such device."""
    try:
        jax.devices()
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
        raise UsageError(f"JAX cannot start: {reason} Check --device and JAX_PLATFORMS.") from error


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; 2 for a command that cannot be run, with one line that says why."""
    try:
        options = parse(argv)
        jax.config.update("jax_enable_x64", True)
        if options.device is not None:
            jax.config.update("jax_platforms", {"gpu": "cuda"}.get(options.device, options.device))
        _start_backend()
        profile(options, Console())
    except (UsageError, vcjax.VcjaxError, OSError) as error:
        print(f"profile_vc: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
