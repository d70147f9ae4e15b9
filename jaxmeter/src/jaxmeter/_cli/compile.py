"""Trace, lower and compile a function, and show which source lines and kernels take the time.
The function is not run.

exit codes: 0 done; 1 all stages together took longer than --limit; 2 bad usage;
3 the function could not be imported or compiled
"""

from __future__ import annotations

import argparse

import jaxmeter
from jaxmeter._cli.command import add_target_options, using_case, write_answer
from jaxmeter._records.compile import CompileProfile


def add_options(parser: argparse.ArgumentParser) -> None:
    add_target_options(parser)
    parser.add_argument("--flame", metavar="FILE", help="write a flame graph as an HTML page")
    parser.add_argument(
        "--speedscope", metavar="FILE", help="write JSON for speedscope.app or ui.perfetto.dev"
    )
    text = "exit with code 1 if all stages together take longer"
    parser.add_argument("--limit", type=float, metavar="SECONDS", help=text)


def run(options: argparse.Namespace) -> tuple[CompileProfile, bool]:
    with using_case("compile", options.target, options, "compiling") as case:
        profile = jaxmeter.compile_profile(case)
    if options.flame:
        write_answer("--flame", options.flame, profile.to_flame_graph())
    if options.speedscope:
        write_answer("--speedscope", options.speedscope, profile.to_speedscope())
    return profile, options.limit is None or profile.seconds <= options.limit
