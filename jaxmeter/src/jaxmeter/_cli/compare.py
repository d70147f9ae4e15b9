"""``jaxmeter compare package.module:one package.module:other``: are they the same?"""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys

from jaxmeter._cli.common import TARGET_HELP, add_arguments, tell_failure
from jaxmeter._compare.compare import DEFAULT_PROCESSES_COUNT, compare
from jaxmeter._measure.targets import TARGET
from jaxmeter._records.comparison import Comparison, Effort, Rule, Side
from jaxmeter.errors import JaxmeterError

DESCRIPTION = (
    "Measure two functions in turns, in several fresh processes, and tell whether they are the "
    "same: in what is exact, and in their times."
)
EXIT_CODES = (
    "exit codes: 0 no difference was found; 1 they differ; 2 bad usage; 3 a function could not be "
    "imported, compiled or run"
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", help="the first, as the second")
    parser.add_argument("b", help=TARGET_HELP)
    add_arguments(parser)
    parser.add_argument(
        "-c",
        "--call",
        action="append",
        default=[],
        metavar="ARGUMENTS",
        help="a call to be made besides, 'f64[64,3] n=20', for its retraces",
    )
    parser.add_argument(
        "--processes",
        type=int,
        default=DEFAULT_PROCESSES_COUNT,
        help="fresh processes (default %(default)s)",
    )
    parser.add_argument(
        "--minimum-effect",
        type=float,
        default=Rule.minimum_effect,
        metavar="SHARE",
        help="times that differ by less are the same (default %(default)s)",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        metavar="SECONDS",
        help="steady-state calls of each process take so long (default up to "
        f"{Effort.steady_seconds:g}, less for what is fast)",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=600.0,
        metavar="SECONDS",
        help="limit for each process (default %(default)s)",
    )


def answer(options: argparse.Namespace) -> tuple[Comparison, bool | None]:
    for target in (options.a, options.b):
        if not TARGET.fullmatch(target):
            raise JaxmeterError(f"compare: got target={target!r}; give 'package.module:function'")
    told = {
        "arg": tuple(options.arg),
        "npz": options.npz and os.path.abspath(options.npz),
        "pickle": options.pickle and os.path.abspath(options.pickle),
        "param": tuple(options.param),
        "static": tuple(options.static),
        "no_args": options.no_args,
        "call": tuple(options.call),
    }
    found = compare(
        Side(options.a, **told),
        Side(options.b, **told),
        processes=options.processes,
        rule=Rule(minimum_effect=options.minimum_effect),
        effort=_effort(options.seconds),
        timeout_seconds=options.timeout,
        on_process=lambda number: _tell(number, options.processes),
    )
    for record in found.failures:
        tell_failure("compare", record)
    return found, None if found.failures else found.verdict != "different"


def _effort(seconds: float | None) -> Effort:
    if seconds is None:
        return Effort()
    asked = Effort(steady_seconds=seconds)  # which refuses what is none
    turns = round(seconds / (2 * asked.turn_seconds))
    return dataclasses.replace(asked, turns=max(asked.turns, turns))


def _tell(number: int, of: int) -> None:
    print(f"compare: process {number} of {of}", file=sys.stderr, flush=True)
