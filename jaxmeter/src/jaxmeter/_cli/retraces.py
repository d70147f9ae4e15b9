"""``jaxmeter retraces package.module:function``: which calls trace it again, and why."""

from __future__ import annotations

import argparse

from jaxmeter._cli.common import CALLS_HOOK, add_static, calls_of_module, doing, function_of
from jaxmeter._measure.case import name_of
from jaxmeter._records.retraces import Retraces
from jaxmeter.errors import JaxmeterError

DESCRIPTION = (
    "Call a function again and again, and tell which calls traced or compiled it again, and which "
    "argument is the cause."
)
EXIT_CODES = (
    "exit codes: 0 no call but the first traced or compiled (or no more than --traces did); 1 some "
    "did; 2 bad usage; 3 the function could not be imported or called"
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "target",
        help="package.module:function; without --call its calls are those of "
        f"{CALLS_HOOK}(name) in the module, a list of tuples or of pairs (args, kwargs)",
    )
    parser.add_argument(
        "-c",
        "--call",
        action="append",
        default=[],
        metavar="ARGUMENTS",
        help="the arguments of a call, 'f64[64,3] n=20': types and shapes, filled with ones, or "
        "numbers",
    )
    add_static(parser)
    parser.add_argument(
        "--traces", type=int, default=1, help="so many are fine (default %(default)s)"
    )


def answer(options: argparse.Namespace) -> tuple[Retraces, bool]:
    with doing(f"preparing {options.target}"):
        fn = function_of("retraces", options.target)
        from jaxmeter._cli.arguments import calls_from_texts, static_options

        static = static_options(fn, options.static)
        calls = calls_from_texts(options.call) if options.call else calls_of_module(options.target)
    if calls is None:
        module_name = options.target.partition(":")[0]
        raise JaxmeterError(
            f"retraces: got no calls for {options.target}; give --call 'f64[64,3] n=20' for each, "
            f"or define {CALLS_HOOK}(name) in {module_name}"
        )
    from jaxmeter._retrace.retraces import retraces

    with doing(f"calling {name_of(fn)}"):
        found = retraces(fn, calls, **static)
    again = max(found.traces_count, found.compiles_count + found.cache_hits_count)
    return found, again <= options.traces
