"""``python -m benchmarks.operations.worker STORE DETAILS``: measure operations in this process.

One after the other, JAX's caches cleared in between. Programs come from the persistent compilation
cache where an earlier worker compiled the same one: it hands out the same program, so that every
quantity here is the same, and a commit that changed nothing costs seconds. Times are not taken.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import faulthandler
import fnmatch
import json
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax

import jaxmeter
from benchmarks.measuring.plan import PlannedCase
from benchmarks.measuring.store import RecordStore
from benchmarks.operations import calls, derivatives, programs  # noqa: F401  (they fill the table)
from benchmarks.operations.table import OPERATIONS, Calls, Operation, Program

SUITE = "operations"
CURRENT = "current"
LOW_PRECISION = ("float32", "complex64", "float16", "bfloat16")
TIMEOUT_SECONDS = 600.0  # of an operation


def main(argv: Sequence[str] | None = None) -> int:
    """Measure every operation that is asked for and has no record yet."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.operations.worker")
    parser.add_argument("store", type=Path, help="takes the records")
    parser.add_argument("details", type=Path, help="folder for what each operation compiled")
    parser.add_argument("--part", default="0/1", help="this and every n-th further one: 0/2")
    parser.add_argument("--only", nargs="+", default=["*"], help="patterns of names")
    options = parser.parse_args(argv)
    # Before the backend starts; the machine's cores are divided among them.
    jax.config.update("jax_num_cpu_devices", 2)
    first, step = map(int, options.part.split("/"))
    store = RecordStore(options.store)
    options.details.mkdir(parents=True, exist_ok=True)
    for one in list(OPERATIONS.values())[first::step]:
        if not any(fnmatch.fnmatch(one.name, pattern) for pattern in options.only):
            continue
        case = planned(one)
        known = store.read(case, 0)
        if known is not None:
            continue
        # The parent reads it where this process dies.
        note = {"name": one.name, "target": one.target}
        (options.details / f"{CURRENT}-{first}").write_text(json.dumps(note))
        started = time.process_time()
        # Ends the process, also out of the compiler; the parent starts another for the rest.
        faulthandler.dump_traceback_later(TIMEOUT_SECONDS, exit=True)
        record, detail = measured(one)
        faulthandler.cancel_dump_traceback_later()
        store.write(case, 0, record)
        spent = time.process_time() - started
        print(f"{case.name}: {record.status}, {spent:.1f} s of processor time", flush=True)
        if detail is not None:
            jaxmeter.write_file(options.details / f"{one.name}.json", detail.to_json())
    return 0


def planned(one: Operation) -> PlannedCase:
    """Return the case under which an operation's record is kept."""
    return PlannedCase(name=f"{SUITE}/{one.name}", target=one.target, params={}, rounds=1)


def measured(
    one: Operation,
) -> tuple[jaxmeter.Record, jaxmeter.Inventory | jaxmeter.Watched | None]:
    """Return the record of an operation, and its program or what its calls compiled."""
    host = dataclasses.replace(jaxmeter.host_environment(), **jaxmeter.jax_environment())
    record = jaxmeter.Record(f"{SUITE}/{one.name}", "ok", target=one.target, environment=host)
    phase = "setup"
    try:
        made = one.make()
        jax.clear_caches()
        phase = "run"
        if isinstance(made, Calls):
            return _calls(record, made)
        return _program(record, made)
    except Exception as error:
        text = "".join(traceback.format_exception(error))
        failure = jaxmeter.Failure(phase, type(error).__name__, str(error), text)
        return dataclasses.replace(record, status="failed", failure=failure), None


def _program(record: jaxmeter.Record, made: Program) -> tuple[jaxmeter.Record, jaxmeter.Inventory]:
    executions = 0

    def counted(*arguments):
        nonlocal executions
        executions += 1
        return made.function(*arguments)

    jitted = jax.jit(counted)
    found = jaxmeter.inventory(jaxmeter.Case(jitted, made.arguments))
    jitted(*made.arguments)
    answer = jax.block_until_ready(jitted(*jax.tree.map(lambda leaf: leaf, made.arguments)))
    record = dataclasses.replace(
        record,
        constants=found.constants,
        program=found.program,
        memory=found.memory,
        counts=jaxmeter.Counts(traces_count=executions, compiles_count=1),
        checks=dict(made.check(answer, jitted)),
        extras={"low_precision_count": _low_precision_count(jitted, made.arguments)},
    )
    return record, dataclasses.replace(found, name=record.name)


def _low_precision_count(jitted: Any, arguments: tuple[Any, ...]) -> int:
    """Return how many equations make numbers of less than double precision."""

    def count(jaxpr: Any) -> int:
        jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
        total = 0
        for equation in jaxpr.eqns:
            dtypes = [getattr(one.aval, "dtype", None) for one in equation.outvars]
            total += any(str(dtype) in LOW_PRECISION for dtype in dtypes)
            # A nested jaxpr is a parameter, or one of several.
            values = jax.tree.leaves(
                list(equation.params.values()), is_leaf=lambda v: hasattr(v, "eqns")
            )
            total += sum(count(v) for v in values if hasattr(getattr(v, "jaxpr", v), "eqns"))
        return total

    return count(jitted.trace(*arguments).jaxpr)


def _calls(record: jaxmeter.Record, made: Calls) -> tuple[jaxmeter.Record, jaxmeter.Watched]:
    with jaxmeter.watch() as watched:
        answer = jax.block_until_ready(made.run())
    found = watched.report
    compiled = found.compiles_count + found.cache_hits_count
    counts = jaxmeter.Counts(traces_count=found.traces_count, compiles_count=compiled)
    checks = dict(made.check(answer))
    return dataclasses.replace(record, counts=counts, checks=checks), found


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        sys.exit(main())
