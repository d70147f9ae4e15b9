"""What the subcommands share: naming a function and its arguments, writing the answer, exit codes.

A subcommand is a module with ``DESCRIPTION``, ``EXIT_CODES``, ``add_options(parser)`` and
``answer(options)``, which returns a result and whether it is good, None if there is no answer.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxmeter.errors import JaxmeterError
from jaxmeter.parameters import parameter
from jaxmeter.targets import TARGET, resolve
from jaxmeter.terminal import markdown, show

if TYPE_CHECKING:
    from jaxmeter.case import Case
    from jaxmeter.comparison_record import Side

CALLS_HOOK = "jaxmeter_calls"
"""A function of the target's module: ``jaxmeter_calls(name)`` returns the calls to make."""

COMMANDS = ("audit", "compare", "retraces", "diff", "memory", "calibrate")


def main(command: str, argv: Sequence[str]) -> int:
    """Run a subcommand; the exit codes are those that its help tells."""
    module: Any = importlib.import_module(f"jaxmeter.{command}_command")
    parser = argparse.ArgumentParser(
        prog=f"jaxmeter {command}", description=module.DESCRIPTION, epilog=module.EXIT_CODES
    )
    module.add_options(parser)
    add_output(parser)
    options = parser.parse_args(argv)
    sys.path.insert(0, os.getcwd())  # as python -m does
    try:
        if options.json == "-" and options.markdown == "-":
            raise JaxmeterError(f"{command}: got - for both --json and --markdown; give one a file")
        result, is_good = module.answer(options)
        _write(options, result)
    except JaxmeterError as error:
        print(error, file=sys.stderr)
        return 2
    except Exception:
        traceback.print_exc()
        return 3
    finally:
        sys.path.remove(os.getcwd())
    return {True: 0, False: 1, None: 3}[is_good]


def add_output(parser: argparse.ArgumentParser) -> None:
    """The options that tell where the answer goes."""
    parser.add_argument(
        "--json", metavar="FILE", help="write the answer there; - instead of the table"
    )
    parser.add_argument("--markdown", metavar="FILE", help="the same in Markdown")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that tell the arguments of a function."""
    given = parser.add_mutually_exclusive_group()
    given.add_argument(
        "-a",
        "--arg",
        action="append",
        default=[],
        metavar="[NAME=]ARGUMENT",
        help="an argument, as type and shape, f64[64,3], or a number",
    )
    given.add_argument("--npz", metavar="FILE", help="arguments as saved by numpy.savez")
    given.add_argument(
        "--pickle", metavar="FILE", help="a pickled tuple of arguments, or (args, kwargs)"
    )
    parser.add_argument(
        "-p",
        "--param",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a keyword argument for what makes the case, a number, true, false, null or a text",
    )


TARGET_HELP = (
    "package.module:function; without --arg, --npz and --pickle its arguments are those of "
    "jaxmeter_arguments(name) in the module, or else it returns jaxmeter.Case(fn, args)"
)


def function_of(command: str, target: str) -> Callable[..., Any]:
    """The function that a target names.

    Raises
    ------
    JaxmeterError
        If it names none.
    Exception
        Whatever importing its module raises.
    """
    if not TARGET.fullmatch(target):
        raise JaxmeterError(f"{command}: got target={target!r}; give 'package.module:function'")
    return resolve(command, target, "JAX can trace")


def case_of(command: str, target: str, options: argparse.Namespace | Side) -> Case:
    """The function that a target names, with its arguments."""
    fn = function_of(command, target)
    # Only now, for the module may have its say on JAX's configuration.
    from jaxmeter.arguments import from_module, from_npz, from_pickle, from_texts
    from jaxmeter.case import Case

    if options.npz:
        args, kwargs = from_npz(options.npz)
    elif options.pickle:
        args, kwargs = from_pickle(options.pickle)
    elif options.arg:
        args, kwargs = from_texts(options.arg)
    else:
        return from_module(command, fn, target, dict(map(parameter, options.param)))
    return Case(fn, tuple(args), kwargs)


def calls_of_module(target: str) -> Any:
    """The calls that the module of a target, which is imported, tells; None if it tells none."""
    module_name, _, name = target.partition(":")
    hook = getattr(sys.modules[module_name], CALLS_HOOK, None)
    return None if hook is None else hook(name)


def _write(options: argparse.Namespace, result: Any) -> None:
    if "-" not in (options.json, options.markdown):
        show(result)
    for option, file, text in (
        ("--json", options.json, lambda: result.to_json(indent=2)),
        ("--markdown", options.markdown, lambda: markdown(result)),
    ):
        if file == "-":
            print(text())
        elif file is not None:
            write_file(option, file, text())


def write_file(option: str, file: str, text: str) -> None:
    """Write a text to a file that an option names.

    Raises
    ------
    JaxmeterError
        If it cannot be written.
    """
    try:
        Path(file).write_text(text + "\n")
    except OSError as error:
        raise JaxmeterError(
            f"{option}: got {file!r} ({error}); give a path that can be written"
        ) from None
