"""Show the largest buffers of a function with their operations and named scopes, and the peak
memory of a run. If the arguments are types and shapes, the function is compiled and not run.

exit codes: 0 done; 1 temporaries above --limit; 2 bad usage;
3 the function could not be imported, compiled or run
"""

from __future__ import annotations

import argparse

import jaxmeter
from jaxmeter._cli.command import add_target_options, using_case
from jaxmeter._records.memory import MemoryUse


def add_options(parser: argparse.ArgumentParser) -> None:
    add_target_options(parser)
    parser.add_argument("--limit", type=int, metavar="BYTES", help="limit for temporaries")


def run(options: argparse.Namespace) -> tuple[MemoryUse, bool]:
    with using_case("memory", options.target, options, "compiling or running") as case:
        use = jaxmeter.memory(case)
    temporaries = use.memory.temp_bytes or 0
    return use, options.limit is None or temporaries <= options.limit
