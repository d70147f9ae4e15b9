"""Compare two functions: measure both in fresh processes, or use existing measurements."""

from __future__ import annotations

import ast
import dataclasses
import os
import pickle
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from jaxmeter._compare.exact import compare_answers, compare_exact
from jaxmeter._compare.rounds import Round
from jaxmeter._compare.times import DEFAULT_CRITERIA, compare_times
from jaxmeter._measure.benchmark import BenchmarkCase, Timeout
from jaxmeter._measure.environment import host_environment
from jaxmeter._measure.targets import TARGET_FORM, is_target, resolve
from jaxmeter._notebook import write_module
from jaxmeter._records.comparison import (
    TIMES,
    ComparedProcess,
    Comparison,
    Criteria,
    Effort,
    Exact,
    Side,
    Task,
    Timing,
)
from jaxmeter._records.files import temporary_folder, write_file
from jaxmeter._records.plain_data import FrozenDict, checked
from jaxmeter._records.record import PHASES, Failure, Record
from jaxmeter._workers.processes import in_worker
from jaxmeter._workers.run import with_ending
from jaxmeter.errors import JaxmeterError

DEFAULT_PROCESSES_COUNT = 6
DEFAULT_EFFORT = Effort()


def compare(
    a: str | Side | Callable[..., Any],
    b: str | Side | Callable[..., Any],
    *args: Any,
    processes: int = DEFAULT_PROCESSES_COUNT,
    criteria: Criteria = DEFAULT_CRITERIA,
    effort: Effort = DEFAULT_EFFORT,
    timeout_seconds: float = BenchmarkCase.timeout_seconds,
    path: Sequence[str] | None = None,
    env: Mapping[str, str] = FrozenDict(),
    on_process: Callable[[int], None] | None = None,
) -> Comparison:
    """Measure two functions in fresh processes and compare them.

    Each process interleaves the calls of both functions, so that machine noise affects both
    functions alike. Every second process measures ``b`` first. Exact quantities (counts and sizes),
    captured values and the answers of one call are compared bit by bit. For answers, ``criteria``
    can set a tolerance. Times are compared by their ratio in each process.

    Parameters
    ----------
    a, b : str, Side or callable
        The functions. Each is given as ``package.module:function``, as ``file.py:function``, as a
        `Side`, or as a function object from a module, the running script or a notebook. Both
        functions are called with ``args``. Without ``args``, the arguments come from the `Side`, or
        from ``jaxmeter_arguments(name)`` in the function's module. If the module does not define
        ``jaxmeter_arguments``, the given function is called and must return a `jaxmeter.Case`. The
        `Side`, or ``jaxmeter_calls(name)`` in the module, may give further calls. These calls are
        made after the measurement, and their retraces are counted.
    *args : Any
        The arguments of both functions. The arguments are pickled. An array of ones, or of random
        keys, replaces each `jax.ShapeDtypeStruct`.
    processes : int
        Number of fresh processes, at least 2. With an even number, each function is measured first
        in half of the processes. With fewer than four processes, only large differences of times
        are found.
    criteria : Criteria
        The limits that decide whether times are different and whether answers are the same.
    effort : Effort
        The limits on the measurements of each process.
    timeout_seconds : float
        Time limit for each process.
    path : sequence of str, optional
        Entries to add at the start of ``sys.path`` in each process. By default, these are the
        entries of ``sys.path`` in this process.
    env : mapping
        Environment variables of the processes. They override the variables of this process.
    on_process : callable, optional
        A function that is called before each process begins, with the number of the process. The
        numbers start at 1.

    Returns
    -------
    Comparison
        The verdicts and the measurements of all processes. If a function fails, no further process
        is started. The verdict is then ``failed``, and ``failures`` contains the records of
        failed measurements.

    Raises
    ------
    JaxmeterError
        If an argument cannot be used.
    FileError
        If no temporary folder can be made, or a file in it cannot be written.
    """
    checked("compare", "processes", processes, Annotated[int, Meta(ge=2)])
    checked("compare", "timeout_seconds", timeout_seconds, Timeout)
    checked("compare", "env", dict(env), dict[str, str])
    if path is None:
        path = [entry or os.getcwd() for entry in sys.path]
    entries: tuple[str, ...] = checked("compare", "path", path, tuple[str, ...])
    done: list[ComparedProcess] = []
    with _sides(a, b, args) as sides:
        for number in range(processes):
            if on_process is not None:
                on_process(number + 1)
            task = Task(*sides, effort, swapped=number % 2 == 1, path=entries)
            done.append(_run(task, timeout_seconds, env))
            if any(record.status != "ok" for record in (done[-1].a, done[-1].b)):
                break
    return compare_processes(tuple(done), criteria, effort)


def compare_processes(
    processes: Sequence[ComparedProcess],
    criteria: Criteria = DEFAULT_CRITERIA,
    effort: Effort = DEFAULT_EFFORT,
) -> Comparison:
    """Compare two functions that were measured together in each of several processes.

    Parameters
    ----------
    processes : sequence of ComparedProcess
        The measurements of the processes, such as results of `measure_pair`.
    criteria : Criteria
        The limits that decide whether times are different and whether answers are the same.
    effort : Effort
        The limits on the measurements of each process; they are stored in the result.

    Raises
    ------
    JaxmeterError
        If there are no processes, if a time is not a finite number above 0, or if the two functions
        of a process have different numbers of samples or of timed compiles.
    """
    processes = tuple(processes)
    if not processes:
        raise JaxmeterError("compare_processes: got no processes; give at least one process")
    a, b = (tuple(getattr(process, side) for process in processes) for side in "ab")
    exact: tuple[Exact, ...] = ()
    timings: tuple[Timing, ...] = ()
    if all(record.status == "ok" for record in (*a, *b)):
        answers = [process.answers for process in processes]
        exact = (*compare_answers(answers, criteria.tolerance), *compare_exact(a, b))
        rounds = {name: _rounds(processes, name) for name in TIMES}
        timings = compare_times(rounds, criteria, times_count=len(TIMES))
    return Comparison(a[0].name, b[0].name, exact, timings, criteria, effort, processes)


def _rounds(processes: Sequence[ComparedProcess], name: str) -> list[Round]:
    pairs: list[tuple[Sequence[float], Sequence[float]]]
    if name == "steady_seconds":
        pairs = [(process.a.samples_seconds, process.b.samples_seconds) for process in processes]
    else:
        pairs = [
            ([getattr(x, name) for x in p.a_compiles], [getattr(x, name) for x in p.b_compiles])
            for p in processes
        ]
    return [Round.from_samples(a, b, interleaved=True) for a, b in pairs if a and b]


def compare_records(
    records_a: Sequence[Record],
    records_b: Sequence[Record],
    criteria: Criteria = DEFAULT_CRITERIA,
) -> tuple[tuple[Exact, ...], tuple[Timing, ...]]:
    """Compare two functions, or two versions of a function, from records of separate processes.

    Parameters
    ----------
    records_a, records_b : sequence of Record
        The records of the first side and of the second side, in equal numbers. The n-th records of
        both sides form a round, which gives one ratio for each known time. The two records of a
        round should be measured directly one after the other. Each side should come first in half
        of the rounds.
    criteria : Criteria
        The limits that decide whether times are different.

    Returns
    -------
    tuple of Exact, tuple of Timing
        The verdicts on exact quantities and on times. The first tuple is empty if the records come
        from different versions of JAX, because each version has its own compiler.

    Raises
    ------
    JaxmeterError
        If there are no records, if the two numbers of records differ, if a record's status is not
        ``ok``, or if a time is not a finite number above 0.
    """
    records_a, records_b = tuple(records_a), tuple(records_b)
    if not records_a or len(records_a) != len(records_b):
        raise JaxmeterError(
            f"compare_records: got {len(records_a)} records of the first side and "
            f"{len(records_b)} records of the second side; give the same number of records for "
            "both sides, and at least one for each side"
        )
    for record in (*records_a, *records_b):
        if record.status != "ok":
            raise JaxmeterError(
                f"compare_records: got a record of {record.name} with status {record.status!r}; "
                "give only the rounds in which both records have the status 'ok'"
            )
    pairs = list(zip(records_a, records_b, strict=True))
    samples = [(a.samples_seconds, b.samples_seconds) for a, b in pairs]
    rounds = {"steady_seconds": [Round.from_samples(a, b) for a, b in samples if a and b]}
    for phase in PHASES:
        seconds = [(getattr(a.phases, phase), getattr(b.phases, phase)) for a, b in pairs]
        known = [(a, b) for a, b in seconds if None not in (a, b)]
        rounds[phase] = [Round.from_samples([a], [b]) for a, b in known]
    timings = compare_times(rounds, criteria, times_count=len(TIMES))
    return compare_exact(records_a, records_b), timings


@contextmanager
def _sides(a: Any, b: Any, args: tuple[Any, ...]) -> Iterator[tuple[Side, Side]]:
    with temporary_folder() as folder:
        sides = _side(a, folder), _side(b, folder)
        if not args:
            yield sides
            return
        if any(side.arg or side.npz or side.pickle for side in sides):
            raise JaxmeterError(
                f"compare: got a Side with arguments and {len(args)} more arguments in the call; "
                "give the arguments either in the Side or in the call"
            )
        try:
            pickled = pickle.dumps((args, {}))
        except Exception as error:  # pickling may raise any exception
            raise JaxmeterError(
                f"compare: got arguments that cannot be pickled ({error}); leave the arguments "
                "out, and give for each side a function that makes the arguments and returns "
                "jaxmeter.Case(fn, args)"
            ) from error
        file = folder / "arguments.pickle"
        write_file(file, pickled)
        first, second = (dataclasses.replace(side, pickle=str(file)) for side in sides)
        yield first, second


def _side(one: Any, folder: Path) -> Side:
    if isinstance(one, str):
        one = Side(one)
    if isinstance(one, Side):
        if not is_target(one.target):
            raise JaxmeterError(f"compare: got target={one.target!r}; give {TARGET_FORM}")
        return one
    module, name = (getattr(one, part, "") for part in ("__module__", "__qualname__"))
    try:
        found = callable(one) and resolve(f"{module}:{name}") is one
    except (ImportError, ValueError, JaxmeterError):
        found = False
    if module == "__main__" and found:
        module = getattr(sys.modules["__main__"], "__file__", None) or ""
        if not module.endswith(".py"):  # a notebook, or a prompt
            module, names = folder / f"{name}_of_cells.py", vars(sys.modules["__main__"])
            write_module(module, ast.parse(name), names)
            found = f"def {name}(" in module.read_text()
    if not found:
        raise JaxmeterError(
            f"compare: got {one!r:.80}, which a fresh process cannot import; give {TARGET_FORM}, "
            "or a function from the top level of a module, of the running script or of a notebook "
            "cell. If the source of the function is unknown, as at a prompt, save the function in "
            "a file first"
        )
    return Side(f"{module}:{name}")


def _run(task: Task, timeout_seconds: float, env: Mapping[str, str]) -> ComparedProcess:
    ended = in_worker("jaxmeter._compare.worker", task, env, timeout_seconds)
    process = ended.answer_as(ComparedProcess)
    if isinstance(process, Failure):
        failure, here = process, host_environment()
        a, b = (
            Record(side.target, "failed", side.target, failure=failure, environment=here)
            for side in (task.a, task.b)
        )
        process = ComparedProcess(a, b, swapped=task.swapped)
    return dataclasses.replace(
        process,
        a=with_ending(process.a, ended, timeout_seconds),
        b=with_ending(process.b, ended, timeout_seconds),
    )
