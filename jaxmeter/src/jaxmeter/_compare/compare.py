"""Compare two functions: measured in turns by several fresh processes, then judged."""

from __future__ import annotations

import dataclasses
import os
import pickle
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jaxmeter._compare.exact import compare_answers, compare_exact
from jaxmeter._compare.judge import DEFAULT_RULE, compare_pair
from jaxmeter._compare.rounds import phase_rounds, steady_rounds
from jaxmeter._measure.environment import host_environment
from jaxmeter._measure.progress import UNFINISHED
from jaxmeter._measure.run import Ended, in_worker, told
from jaxmeter._measure.targets import is_target, resolve
from jaxmeter._records.comparison import (
    ComparedProcess,
    Comparison,
    Effort,
    Exact,
    Rule,
    Side,
    Task,
    Timing,
)
from jaxmeter._records.plain_data import FrozenDict
from jaxmeter._records.record import Failure, Record
from jaxmeter.errors import JaxmeterError, RecordError

DEFAULT_PROCESSES_COUNT = 6
DEFAULT_EFFORT = Effort()
_NO_ANSWER = Failure("start", UNFINISHED, "ended before it wrote an answer")


def compare(
    a: str | Side | Callable[..., Any],
    b: str | Side | Callable[..., Any],
    *args: Any,
    processes: int = DEFAULT_PROCESSES_COUNT,
    rule: Rule = DEFAULT_RULE,
    effort: Effort = DEFAULT_EFFORT,
    timeout_seconds: float = 600.0,
    path: Sequence[str] | None = None,
    env: Mapping[str, str] = FrozenDict(),
    on_process: Callable[[int], None] | None = None,
) -> Comparison:
    """Are two functions the same to the meter, and if not, in what?

    Each process holds both functions and calls them in turns, so that whatever else the machine
    does meets both alike; the order changes from process to process. Exact quantities, such as
    captured bytes and traces, are compared exactly, so are the values that were captured and the
    answers to one call, bit by bit, and times by the ratios of the processes.

    Parameters
    ----------
    a, b : str, Side or callable
        ``package.module:function``, or a function that a fresh process can import. It is called
        with ``args``; without any it has the arguments that its module tells, or makes a
        `jaxmeter.Case`, as for the commands. Calls that ``jaxmeter_calls(name)`` of its module
        tells are made too, for their retraces.
    *args : Any
        Arguments of both functions; they go to the processes by pickle. Arrays may be given as
        `jax.ShapeDtypeStruct` and are then filled with ones.
    processes : int
        How many fresh processes; even numbers let either function go first as often. Fewer than
        four see only large differences of times.
    rule : Rule
        When times are different.
    effort : Effort
        How long each process measures.
    timeout_seconds : float
        Limit for the life of each process.
    path : sequence of str, optional
        What goes in front of their ``sys.path``; that of this process by default.
    env : mapping
        Environment variables set over those of this process.
    on_process : callable, optional
        Called with the number of each process, from 1, before it begins.

    Returns
    -------
    Comparison
        A function that fails ends it: the verdict is ``failed``, and ``failures`` tell.

    Raises
    ------
    JaxmeterError
        If an argument is not of its kind.
    """
    if isinstance(processes, bool) or not isinstance(processes, int) or processes < 2:
        raise JaxmeterError(
            f"compare: got processes={processes!r}; give a whole number, 2 or more, or for a "
            f"verdict on times {DEFAULT_PROCESSES_COUNT}"
        )
    path = tuple(entry or os.getcwd() for entry in sys.path) if path is None else tuple(path)
    done: list[ComparedProcess] = []
    with _sides(a, b, args) as sides:
        for number in range(processes):
            if on_process is not None:
                on_process(number + 1)
            task = Task(*sides, effort, swapped=number % 2 == 1, path=path)
            done.append(_run(task, timeout_seconds, env))
            if any(record.status != "ok" for record in (done[-1].a, done[-1].b)):
                break
    return judge(tuple(done), rule, effort)


def judge(
    processes: tuple[ComparedProcess, ...],
    rule: Rule = DEFAULT_RULE,
    effort: Effort = DEFAULT_EFFORT,
) -> Comparison:
    """The comparison that processes amount to, by another rule perhaps."""
    a, b = (tuple(getattr(process, side) for process in processes) for side in "ab")
    exact: tuple[Exact, ...] = ()
    timings: tuple[Timing, ...] = ()
    if all(record.status == "ok" for record in (*a, *b)):
        answers = [process.answers for process in processes]
        exact = (*compare_answers(answers), *compare_exact(a, b))
        compiles = [(process.a_compiles, process.b_compiles) for process in processes]
        steady = steady_rounds(a, b, in_turns=True)
        timings = compare_pair({"steady_seconds": steady} | phase_rounds(compiles), rule)
    return Comparison(a[0].name, b[0].name, exact, timings, rule, effort, processes)


@contextmanager
def _sides(a: Any, b: Any, args: tuple[Any, ...]) -> Iterator[tuple[Side, Side]]:
    sides = [_side(one) for one in (a, b)]
    if not args:
        yield (sides[0], sides[1])
        return
    for side in sides:
        if side.arg or side.npz or side.pickle:
            raise JaxmeterError(
                f"compare: got a Side with arguments and {len(args)} more; give them once"
            )
    with tempfile.TemporaryDirectory(prefix="jaxmeter-") as folder:
        file = Path(folder, "arguments.pickle")
        try:
            file.write_bytes(pickle.dumps((args, {})))
        except Exception as error:  # pickling may raise anything
            raise JaxmeterError(
                f"compare: got arguments that cannot be pickled ({error}); name a function that "
                "makes them and returns jaxmeter.Case(fn, args)"
            ) from error
        with_args = [dataclasses.replace(side, pickle=str(file)) for side in sides]
        yield (with_args[0], with_args[1])


def _side(one: Any) -> Side:
    if isinstance(one, str):
        one = Side(one)
    if isinstance(one, Side):
        if not is_target(one.target):
            raise JaxmeterError(
                f"compare: got target={one.target!r}; give 'package.module:function'"
            )
        return one
    target = f"{getattr(one, '__module__', '')}:{getattr(one, '__qualname__', '')}"
    try:
        found = callable(one) and resolve(target) is one
    except (ImportError, ValueError, JaxmeterError):
        found = False
    if not found or target.startswith("__main__:"):
        raise JaxmeterError(
            f"compare: got {one!r:.80}, which a fresh process cannot import; give a function that "
            "a module other than the running script holds under its own name, or the name, "
            "'package.module:function'"
        )
    return Side(target)


def _run(task: Task, timeout_seconds: float, env: Mapping[str, str]) -> ComparedProcess:
    ended = in_worker(
        "jaxmeter._compare.worker", ("--task", "--answer"), task.to_json(), env, timeout_seconds
    )
    process = _read(ended, task)
    return dataclasses.replace(
        process,
        a=told(process.a, ended, timeout_seconds),
        b=told(process.b, ended, timeout_seconds),
    )


def _read(ended: Ended, task: Task) -> ComparedProcess:
    failure = _NO_ANSWER
    if ended.answer is not None:
        try:
            return ComparedProcess.from_json(ended.answer)
        except RecordError as error:
            failure = Failure("start", type(error).__name__, str(error))
    a, b = (
        Record(side.target, "failed", side.target, failure=failure, environment=host_environment())
        for side in (task.a, task.b)
    )
    return ComparedProcess(a, b, swapped=task.swapped)
