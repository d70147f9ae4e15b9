"""``jaxmeter memory package.module:function``: what memory a function takes."""

from __future__ import annotations

import argparse

from jaxmeter._cli.common import TARGET_HELP, add_arguments, doing, prepared
from jaxmeter._measure.case import name_of
from jaxmeter._records.memory import MemoryUse

DESCRIPTION = (
    "Tell the largest buffers of a function with their operations and named scopes, and its "
    "peaks while it runs. Given by type and shape it is compiled and not run."
)
EXIT_CODES = (
    "exit codes: 0 done; 1 more temporaries than --limit; 2 bad usage; 3 the function could not "
    "be imported, compiled or run"
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", help=TARGET_HELP)
    add_arguments(parser)
    parser.add_argument("--limit", type=int, metavar="BYTES", help="the most of temporaries")


def answer(options: argparse.Namespace) -> tuple[MemoryUse, bool]:
    case = prepared("memory", options.target, options)
    from jaxmeter._program.memory import memory

    with doing(f"compiling or running {name_of(case.fn)}"):
        use = memory(case)
    temporaries = use.memory.temp_bytes or 0
    return use, options.limit is None or temporaries <= options.limit
