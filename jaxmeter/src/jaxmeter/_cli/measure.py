"""Measure a JAX function in a fresh process: the time of each phase, captured constants, retraces,
program size and memory.

exit codes: 0 measured; 1 measured, but the program had been compiled before the measurement;
2 bad usage; 3 the function could not be imported, failed, or took longer than --timeout
"""

from __future__ import annotations

import argparse
import os

from jaxmeter._cli.arguments import parse_parameter
from jaxmeter._cli.command import add_param, print_failure
from jaxmeter._measure.benchmark import BenchmarkCase
from jaxmeter._records.record import Record
from jaxmeter._workers.run import run_case
from jaxmeter.version import VERSION


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--version", action="version", version=f"jaxmeter {VERSION}")
    parser.add_argument(
        "target",
        help="a function that returns jaxmeter.Case(fn, args): package.module:function or "
        "file.py:function",
    )
    add_param(parser)
    parser.add_argument(
        "--repeat",
        type=int,
        default=BenchmarkCase.repeat,
        help="number of steady-state samples (default %(default)s)",
    )
    parser.add_argument(
        "--compiles",
        type=int,
        default=BenchmarkCase.compiles,
        help="number of compiles to measure (default %(default)s)",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=BenchmarkCase.timeout_seconds,
        metavar="SECONDS",
        help="time limit (default %(default)g)",
    )


def run(options: argparse.Namespace) -> tuple[Record, bool | None]:
    benchmark = BenchmarkCase(
        name=options.target,
        target=options.target,
        params=dict(map(parse_parameter, options.param)),
        repeat=options.repeat,
        compiles=options.compiles,
        timeout_seconds=options.timeout,
        path=(os.getcwd(),),  # as python -m does
    )
    record = run_case(benchmark)
    print_failure("jaxmeter", record)
    return record, {"ok": True, "rejected": False}.get(record.status)
