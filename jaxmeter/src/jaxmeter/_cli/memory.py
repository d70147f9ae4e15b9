"""Show the largest buffers of a function with their operations and named scopes, and the peak
memory of a run. If an argument is a type and shape, the function is compiled and not run.

exit codes: 0 done; 1 the temporaries are larger than --limit; 2 bad usage;
3 the function could not be imported, compiled or run
"""

from __future__ import annotations

import argparse

import jaxmeter
from jaxmeter._cli.command import add_target_options, using_case
from jaxmeter._records.memory import MemoryUse
from jaxmeter.errors import JaxmeterError


def add_options(parser: argparse.ArgumentParser) -> None:
    add_target_options(parser)
    text = "exit with code 1 if the temporaries are larger than this"
    parser.add_argument("--limit", type=int, metavar="BYTES", help=text)


def run(options: argparse.Namespace) -> tuple[MemoryUse, bool]:
    with using_case("memory", options.target, options, "compiling or running") as case:
        use = jaxmeter.memory(case)
    if options.limit is None:
        return use, True
    if use.memory.temp_bytes is None:
        raise JaxmeterError(
            f"memory: got --limit {options.limit}, but the compiler for {use.backend} does not "
            "report the size of temporaries; leave --limit out"
        )
    return use, use.memory.temp_bytes <= options.limit
