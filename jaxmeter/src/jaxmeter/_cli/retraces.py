"""Call a function several times, and show which calls were traced or compiled again and which
argument is the cause.

exit codes: 0 no more traces or compiles than --traces allows; 1 more traces or compiles;
2 bad usage; 3 the function could not be imported or called
"""

from __future__ import annotations

import argparse

import jaxmeter
from jaxmeter._cli.arguments import CALLS_HOOK, calls_from_options, static_options
from jaxmeter._cli.command import add_call, add_static, doing
from jaxmeter._measure.case import name_of
from jaxmeter._measure.targets import resolve
from jaxmeter._records.retraces import Retraces
from jaxmeter.errors import JaxmeterError


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "target",
        help="package.module:function or file.py:function. Without --call, the calls come "
        f"from {CALLS_HOOK}(name) in the module: a list of tuples, or of pairs (args, kwargs)",
    )
    add_call(parser, "to make")
    add_static(parser)
    parser.add_argument(
        "--traces",
        type=int,
        default=1,
        help="allowed number of traces and of compiles (default %(default)s)",
    )


def run(options: argparse.Namespace) -> tuple[Retraces, bool]:
    with doing(f"preparing {options.target}"):
        fn = resolve(options.target, "retraces")
        static = static_options(fn, options.static, {})
        calls = calls_from_options(options.target, options.call)
    if calls is None:
        raise JaxmeterError(
            f"retraces: got no calls for {options.target}; give --call once for each call, such "
            f"as --call 'f64[64,3] n=20', or define {CALLS_HOOK}(name) in the module"
        )
    with doing(f"calling {name_of(fn)}"):
        found = jaxmeter.retraces(fn, calls, **static)
    again = max(found.traces_count, found.compiles_count + found.cache_hits_count)
    return found, again <= options.traces
