"""``jaxmeter diff package.module:before package.module:now``: in what two programs differ."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from jaxmeter._cli.common import TARGET_HELP, add_arguments, doing, prepared, write_file
from jaxmeter._measure.case import name_of
from jaxmeter._records.inventory import Inventory, ProgramDiff
from jaxmeter.errors import JaxmeterError

DESCRIPTION = "Compile two functions and tell in what their programs differ."
EXIT_CODES = (
    "exit codes: 0 the optimised programs are the same; 1 they are not; 2 bad usage; 3 a function "
    "could not be imported or compiled"
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("before", help="the first: as the second, or the .json of --save")
    parser.add_argument("now", help=TARGET_HELP)
    add_arguments(parser)
    parser.add_argument(
        "--save", metavar="FILE", help="write what the second is made of there, for a later diff"
    )


def answer(options: argparse.Namespace) -> tuple[ProgramDiff, bool]:
    before, now = (_described(target, options) for target in (options.before, options.now))
    if options.save:
        write_file("--save", options.save, now.to_json(indent=2))
    from jaxmeter._program.inventory import diff

    found = diff(before, now)
    return found, found.same is True


def _described(target: str, options: argparse.Namespace) -> Any:
    if target.endswith(".json"):
        try:
            return Inventory.from_json(Path(target).read_bytes())
        except OSError as error:
            raise JaxmeterError(
                f"diff: got {target!r} ({error}); give a file of jaxmeter diff --save"
            ) from None
    case = prepared("diff", target, options)
    from jaxmeter._program.inventory import inventory

    with doing(f"compiling {name_of(case.fn)}"):
        return inventory(case)
