"""Measure two functions with interleaved calls in several fresh processes, and show whether the
functions are the same in exact quantities, such as the number of compiles, and in times.

exit codes: 0 no difference was found; 1 the functions differ; 2 bad usage;
3 a function could not be imported, compiled or run, or a process took longer than --timeout
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
from typing import Any

from jaxmeter._cli.command import add_call, add_target_options, print_failure
from jaxmeter._compare.compare import DEFAULT_PROCESSES_COUNT, compare
from jaxmeter._measure.benchmark import BenchmarkCase
from jaxmeter._records.comparison import Comparison, Criteria, Effort, Side


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", help="the first function, in the same form as the second")
    add_target_options(parser, "b")
    add_call(parser, "of both functions, to count retraces")
    parser.add_argument(
        "--processes",
        type=int,
        default=DEFAULT_PROCESSES_COUNT,
        help="number of fresh processes (default %(default)s)",
    )
    parser.add_argument(
        "--minimum-effect",
        type=float,
        default=Criteria.minimum_effect,
        metavar="SHARE",
        help="times that differ by less than this share are never called different "
        "(default %(default)s)",
    )
    parser.add_argument(
        "--tolerance",
        type=float,
        default=Criteria.tolerance,
        metavar="SHARE",
        help="answers are the same if they differ by at most this share of the largest number in "
        "the first answer (the default %(default)s requires equal bits)",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        metavar="SECONDS",
        help="how long each process measures steady-state calls (default: about "
        f"{Effort.steady_seconds:g} s, less for fast functions, more for slow functions)",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=BenchmarkCase.timeout_seconds,
        metavar="SECONDS",
        help="time limit for each process (default %(default)g)",
    )


def run(options: argparse.Namespace) -> tuple[Comparison, bool | None]:
    fields = {field.name for field in dataclasses.fields(Side)} - {"target"}
    given: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in vars(options).items()
        if name in fields
    }
    for name in ("npz", "pickle"):
        given[name] = given[name] and os.path.abspath(given[name])
    found = compare(
        Side(options.a, **given),
        Side(options.b, **given),
        processes=options.processes,
        criteria=Criteria(minimum_effect=options.minimum_effect, tolerance=options.tolerance),
        effort=_effort(options.seconds),
        timeout_seconds=options.timeout,
        on_process=lambda number: print(
            f"compare: process {number} of {options.processes}", file=sys.stderr, flush=True
        ),
    )
    for record in found.failures:
        print_failure("compare", record)
    return found, None if found.failures else found.verdict != "different"


def _effort(seconds: float | None) -> Effort:
    """Return limits that let each process measure steady-state calls for about ``seconds``. If
    ``seconds`` is None, return the default limits."""
    if seconds is None:
        return Effort()
    effort = Effort(steady_seconds=seconds)
    turns = round(seconds / (2 * effort.turn_seconds))
    return dataclasses.replace(effort, turns=max(effort.turns, turns))
