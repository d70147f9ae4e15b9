"""``python -m benchmarks.operations.worker STORE DETAILS``: measure operations in this process.

Operations are measured one after the other. JAX's caches are cleared before each operation. A
program that an earlier worker compiled comes from the persistent compilation cache. A cached
program has the same exact quantities as a newly compiled program, so a commit that changes no
program is measured in seconds.

``--round 0``, the default, measures exact quantities. A larger number measures only steady-state
times, and the record of that round has no exact quantities.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import faulthandler
import fnmatch
import functools
import gc
import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax

import jaxmeter
from benchmarks.measuring.plan import PlannedCase
from benchmarks.measuring.store import RecordStore
from benchmarks.operations import calls, derivatives, programs  # noqa: F401  (they fill the table)
from benchmarks.operations.table import OPERATIONS, SUITE, Calls, Operation, Program

LOW_PRECISION = ("float32", "complex64", "float16", "bfloat16")
TIMEOUT_SECONDS = 600.0  # limit for one operation
SLOW_SECONDS = 30.0  # an operation that runs longer than this is reported
SAMPLES_SECONDS = 1.0  # calls stop after this time, but not before MIN_SAMPLES calls
MIN_SAMPLES, MAX_SAMPLES = 3, 300


def main(argv: Sequence[str] | None = None) -> int:
    """Measure every requested operation that has no record yet, and return the exit code 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.operations.worker")
    add = parser.add_argument
    add("store", type=Path, help="folder for the records")
    add("details", type=Path, help="folder for a description of each operation's programs")
    about = "K/N: measure operation K and every N-th operation after it; default 0/1"
    add("--part", default="0/1", help=about)
    add("--only", nargs="+", default=["*"], help="patterns of operations' names; default all")
    add("--round", type=int, default=0, help="0: exact quantities; 1 or more: times; default 0")
    about = "stop before an operation if this process has ended; default: the parent process"
    add("--parent", type=int, default=os.getppid(), metavar="PID", help=about)
    options = parser.parse_args(argv)
    # This option must be set before the backend starts. The devices share the machine's cores.
    jax.config.update("jax_num_cpu_devices", 2)
    first, step = map(int, options.part.split("/"))
    store = RecordStore(options.store)
    options.details.mkdir(parents=True, exist_ok=True)
    for one in list(OPERATIONS.values())[first::step]:
        if not any(fnmatch.fnmatch(one.name, pattern) for pattern in options.only):
            continue
        case = PlannedCase(name=f"{SUITE}/{one.name}", target=one.target, params={}, rounds=1)
        if store.read(case, options.round) is not None:
            continue
        if os.getppid() != options.parent:
            raise SystemExit(f"stopped, because the process {options.parent} has ended")
        # The parent process reads this note if this process ends early.
        note = {"name": one.name, "target": one.target}
        (options.details / f"current-{first}").write_text(json.dumps(note))
        started = time.process_time()
        # At the timeout, faulthandler ends this process, even during a compile. The parent process
        # then starts a new worker.
        faulthandler.dump_traceback_later(TIMEOUT_SECONDS, exit=True)
        text = (
            f"{case.name}: still running after {SLOW_SECONDS:.0f} s; limit {TIMEOUT_SECONDS:.0f} s"
        )
        slow = threading.Timer(SLOW_SECONDS, print, [text], {"file": sys.stdout, "flush": True})
        slow.daemon = True  # an interrupted process does not wait for the message
        slow.start()
        with contextlib.redirect_stdout(sys.stderr):
            record, detail = measured(one, is_timed=options.round > 0)
        slow.cancel()
        faulthandler.cancel_dump_traceback_later()
        # Write the details first, because a record without details would not be compared.
        if detail is not None:
            jaxmeter.write_file(options.details / f"{one.name}.json", detail.to_json())
        store.write(case, options.round, record)
        spent = time.process_time() - started
        if not options.round:
            print(f"{case.name}: {record.status}, {spent:.1f} s of processor time", flush=True)
    return 0


def measured(
    one: Operation, *, is_timed: bool = False
) -> tuple[jaxmeter.Record, jaxmeter.Inventory | jaxmeter.Watched | None]:
    """Measure an operation; return its record, and a description of its compiled programs.

    The description is None if the operation failed, or if only times are measured.
    """
    host = dataclasses.replace(jaxmeter.host_environment(), **jaxmeter.jax_environment())
    record = jaxmeter.Record(f"{SUITE}/{one.name}", "ok", target=one.target, environment=host)
    phase = "setup"
    try:
        made = one.make()
        jax.clear_caches()
        phase = "run"
        if is_timed:
            return _timed(record, made), None
        if isinstance(made, Calls):
            return _calls(record, made)
        return _program(record, made)
    except Exception as error:
        text = "".join(traceback.format_exception(error))
        failure = jaxmeter.Failure(phase, type(error).__name__, str(error), text)
        return dataclasses.replace(record, status="failed", failure=failure), None


def _program(record: jaxmeter.Record, made: Program) -> tuple[jaxmeter.Record, jaxmeter.Inventory]:
    jitted, executions_count = _counted(made)
    # A function may compile further programs while it is traced, so all compiles are counted.
    with jaxmeter.watch() as watched:
        found = jaxmeter.inventory(jaxmeter.Case(jitted, made.arguments))
        started = time.perf_counter()
        jitted(*made.arguments)
        # Equal arguments in new containers must not cause another trace.
        answer = jax.block_until_ready(jitted(*jax.tree.map(lambda leaf: leaf, made.arguments)))
    record = dataclasses.replace(
        record,
        constants=found.constants,
        program=found.program,
        memory=found.memory,
        counts=jaxmeter.Counts(
            traces_count=executions_count(), compiles_count=_compiles_count(watched.report)
        ),
        checks=dict(made.check(answer, jitted)),
        extras={"low_precision_count": _low_precision_count(jitted, made.arguments)},
        # This time does not include the compile. A later round, which measures only times, takes
        # about this long before its first sample.
        wall_seconds=time.perf_counter() - started,
    )
    return record, dataclasses.replace(found, name=record.name)


def _counted(made: Program) -> tuple[Any, Callable[[], int]]:
    """Return the jitted function of a program, and a function that returns the number of traces."""
    executions = 0

    # The name of this function is part of the key of the compilation cache, so the name must be the
    # same in all workers.
    def counted(*arguments):
        nonlocal executions
        executions += 1
        return made.function(*arguments)

    return jax.jit(counted), lambda: executions


def _timed(record: jaxmeter.Record, made: Program | Calls) -> jaxmeter.Record:
    """Return the record with the steady-state samples of an operation."""
    started = time.perf_counter()
    if isinstance(made, Calls):
        run, executions_count = made.run, lambda: 1
    else:
        jitted, executions_count = _counted(made)
        run = functools.partial(jitted, *made.arguments)
    for _ in range(2):  # the second call still has cold caches
        jax.block_until_ready(run())
    samples = steady_samples(lambda: jax.block_until_ready(run()))
    if executions_count() != 1:
        raise jaxmeter.RetraceError(
            f"{record.name} was traced {executions_count()} times for the same arguments; "
            "jaxmeter.retraces shows the cause"
        )
    return dataclasses.replace(
        record, samples_seconds=samples, wall_seconds=time.perf_counter() - started
    )


def steady_samples(
    run: Callable[[], Any], clock: Callable[[], float] = time.perf_counter
) -> tuple[float, ...]:
    """Call a function for about `SAMPLES_SECONDS`, and return the seconds of each call.

    There are at least `MIN_SAMPLES` and at most `MAX_SAMPLES` calls.
    """
    samples: list[float] = []
    gc.collect()
    gc.disable()
    try:
        while len(samples) < MIN_SAMPLES or (
            sum(samples) < SAMPLES_SECONDS and len(samples) < MAX_SAMPLES
        ):
            begun = clock()
            run()
            samples.append(clock() - begun)
    finally:
        gc.enable()
    return tuple(samples)


def _low_precision_count(jitted: Any, arguments: tuple[Any, ...]) -> int:
    """Return the number of jaxpr equations with a result dtype in `LOW_PRECISION`."""

    def count(jaxpr: Any) -> int:
        jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
        total = 0
        for equation in jaxpr.eqns:
            dtypes = [getattr(one.aval, "dtype", None) for one in equation.outvars]
            total += any(str(dtype) in LOW_PRECISION for dtype in dtypes)
            # A parameter may be a nested jaxpr, or a list with nested jaxprs.
            values = jax.tree.leaves(
                list(equation.params.values()), is_leaf=lambda v: hasattr(v, "eqns")
            )
            total += sum(count(v) for v in values if hasattr(getattr(v, "jaxpr", v), "eqns"))
        return total

    return count(jitted.trace(*arguments).jaxpr)


def _calls(record: jaxmeter.Record, made: Calls) -> tuple[jaxmeter.Record, jaxmeter.Watched]:
    started = time.perf_counter()
    with jaxmeter.watch() as watched:
        answer = jax.block_until_ready(made.run())
    seconds = time.perf_counter() - started
    found = watched.report
    counts = jaxmeter.Counts(traces_count=found.traces_count, compiles_count=_compiles_count(found))
    checks = dict(made.check(answer))
    return dataclasses.replace(record, counts=counts, checks=checks, wall_seconds=seconds), found


def _compiles_count(watched: jaxmeter.Watched) -> int:
    """Return the number of compiles, including programs from the persistent cache."""
    return watched.compiles_count + watched.cache_hits_count


if __name__ == "__main__":
    sys.exit(main())
