"""Compile two functions and show how their programs differ.

exit codes: 0 the optimised programs are the same, and so are the captured values if they are known;
1 the programs or the values differ, or it is not known whether the programs differ; 2 bad usage;
3 a function could not be imported or compiled
"""

from __future__ import annotations

import argparse

import jaxmeter
from jaxmeter._cli.command import TARGET_HELP, add_target_options, using_case, write_answer
from jaxmeter._records.files import file_errors, read_file
from jaxmeter._records.inventory import Inventory, ProgramDiff
from jaxmeter.errors import JaxmeterError

_FOR_FUNCTIONS = ("arg", "npz", "pickle", "no_args", "static", "param")
"""Options that state the arguments of a function."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("before", help="the first function or file, in the same form as the second")
    add_target_options(parser, "now", help=f"a .json file from --save, {TARGET_HELP}")
    parser.add_argument(
        "--save", metavar="FILE", help="write the inventory of the second program, for a later diff"
    )


def run(options: argparse.Namespace) -> tuple[ProgramDiff, bool]:
    given = [name for name in _FOR_FUNCTIONS if getattr(options, name)]
    if given and all(target.endswith(".json") for target in (options.before, options.now)):
        name = given[0].replace("_", "-")
        raise JaxmeterError(f"diff: got --{name}, but both programs are files; leave --{name} out")
    before, now = (_inventory(target, options) for target in (options.before, options.now))
    if options.save:
        write_answer("--save", options.save, now.to_json(indent=2))
    found = jaxmeter.diff(before, now)
    return found, found.same is True


def _inventory(target: str, options: argparse.Namespace) -> Inventory:
    if target.endswith(".json"):
        with file_errors("diff", target, "give a file that jaxmeter diff --save wrote"):
            return Inventory.from_json(read_file(target))
    with using_case("diff", target, options, "compiling") as case:
        return jaxmeter.inventory(case)
