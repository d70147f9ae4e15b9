"""Run a subcommand: read its options, write its output and return its exit code.

A subcommand is a module that defines ``add_options(parser)`` and ``run(options)``. The docstring of
the module is the help text. ``run`` returns a pair. The first value is the result. The second value
is True if the result is good, False if it is not good, and None if the function could not be
measured. The second value may also be the exit code itself.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from typing import Any

from jaxmeter._cli.arguments import ARGUMENTS_HOOK, case_from_options
from jaxmeter._measure.case import Case, name_of
from jaxmeter._measure.progress import advice_of, message_of
from jaxmeter._records.files import file_errors, write_file
from jaxmeter._records.record import Record
from jaxmeter._render.terminal import leaving_reader, markdown, show
from jaxmeter.errors import JaxmeterError

_QUOTED = re.compile(r"[\w.]*(Error|Exception): ")
MEASURE = "measure"
"""The command that ``jaxmeter`` runs if no command is named."""
COMMANDS = {
    "audit": "which arrays are captured, which objects hold them, which lines use them",
    "compare": "whether two functions are the same, in exact quantities and in times",
    "retraces": "which calls retraced a function, and which argument is the cause",
    "compile": "which lines and kernels take the time of tracing and compiling",
    "watch": "which functions a whole program compiled and why, and which lines called them",
    "cache": "how much time JAX's persistent cache would save, and why some programs are not in it",
    "diff": "how the programs of two functions differ",
    "lock": "whether exact quantities are equal to the quantities in the lock file",
    "memory": "the largest buffers, and the peak memory of a run",
    "calibrate": "compile time per embedded megabyte on this machine",
}
_RUNNING_A_PROGRAM = ("watch", "cache")
"""Commands that run a program. They print to standard error, because the program may print to
standard output."""
_WITHOUT_LONG_TABLES = ("calibrate", "compare")
"""Commands that always print every row. They have no option ``--all``."""
TARGET_HELP = (
    "package.module:function or file.py:function. Without --arg, --npz, --pickle and --no-args, "
    f"the arguments come from {ARGUMENTS_HOOK}(name) in the module. If the module does not define "
    f"{ARGUMENTS_HOOK}, the target is called and must return jaxmeter.Case(fn, args)"
)


def run_command(command: str, argv: Sequence[str]) -> int:
    """Run a subcommand and return its exit code."""
    module: Any = importlib.import_module(f"jaxmeter._cli.{command}")
    name = "jaxmeter" if command == MEASURE else command
    parser = argparse.ArgumentParser(
        prog="jaxmeter" if command == MEASURE else f"jaxmeter {command}",
        description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if command == MEASURE:
        commands = (f"  {name:<10} {answer}" for name, answer in COMMANDS.items())
        parser.epilog = "\n".join(("commands, each with its own --help:", *commands))
    module.add_options(parser)
    parser.set_defaults(all=False)
    if command not in _WITHOUT_LONG_TABLES:
        parser.add_argument("--all", action="store_true", help="print every row of the tables")
    parser.add_argument(
        "--json",
        metavar="FILE",
        help="write the result as JSON; with -, print it instead of the tables",
    )
    parser.add_argument(
        "--markdown",
        metavar="FILE",
        help="write the result as Markdown; with -, print it instead of the tables",
    )
    options = parser.parse_args(argv)
    here = os.getcwd()
    sys.path.insert(0, here)  # as python -m does
    try:
        if options.json == "-" and options.markdown == "-":
            raise JaxmeterError(
                f"{name}: got - for both --json and --markdown; give one of them a file"
            )
        # Send the function's own output to standard error, because it is not part of the result.
        # Restore the current folder, because the module of the function may change it.
        with contextlib.redirect_stdout(sys.stderr), contextlib.chdir(here):
            result, is_good = module.run(options)
        prints = sys.stderr if command in _RUNNING_A_PROGRAM else sys.stdout
        with contextlib.redirect_stdout(prints):
            _write(options, result)
    except JaxmeterError as error:
        print(error, file=sys.stderr)
        return 2
    except SystemExit as error:
        print(
            f"{name}: SystemExit: the function, or its module, ended the program with sys.exit("
            f'{error.code!r}); remove this call, or put it below `if __name__ == "__main__":`',
            file=sys.stderr,
        )
        return 3
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        return 130
    except Exception as error:
        _print_error(name, options, error)
        return 3
    finally:
        sys.path.remove(here)
    # An int is the exit code itself.
    return is_good if type(is_good) is int else {True: 0, False: 1, None: 3}[is_good]


def add_target_options(
    parser: argparse.ArgumentParser, name: str = "target", *, help: str = TARGET_HELP
) -> None:
    """Add the options that name a function and its arguments, for `case_from_options`.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        The parser of a command.
    name : str
        The name of the positional argument.
    help : str
        The help text of the positional argument. The default text describes a function.
    """
    parser.add_argument(name, help=help)
    given = parser.add_mutually_exclusive_group()
    metavar = "[NAME=]ARGUMENT"
    text = (
        "an argument: a type and shape such as f64[64,3], a number, a quoted string or a tuple; a "
        "string for a static argument needs no quotes in NAME=STRING"
    )
    _repeatable(given, "-a", "--arg", metavar=metavar, help=text)
    given.add_argument("--npz", metavar="FILE", help="a file of arguments that numpy.savez wrote")
    given.add_argument(
        "--pickle",
        metavar="FILE",
        help="a pickled tuple of arguments, or (args, kwargs); reading it can run code from the "
        "file",
    )
    text = "for a function that takes no arguments and does not return a jaxmeter.Case"
    given.add_argument("--no-args", action="store_true", help=text)
    add_static(parser)
    add_param(parser)


def add_param(parser: argparse.ArgumentParser) -> None:
    text = (
        "a keyword argument for the function that makes the case or the arguments: a number, true, "
        "false, null or a string"
    )
    _repeatable(parser, "-p", "--param", metavar="NAME=VALUE", help=text)


def add_static(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--static``: the name of a static argument."""
    text = "the name of a static argument, for a function that is not jitted"
    _repeatable(parser, "--static", metavar="NAME", help=text)


def add_call(parser: argparse.ArgumentParser, purpose: str) -> None:
    """Add the option ``--call``. The help text begins with "the arguments of a call" and
    ``purpose``, such as ``to make``."""
    text = (
        f"the arguments of a call {purpose}, for example 'f64[64,3] n=20'. Arguments are numbers, "
        "true, false, tuples such as (3,4), strings in quotation marks, or types and shapes of "
        "arrays; the arrays are filled with ones"
    )
    _repeatable(parser, "-c", "--call", metavar="ARGUMENTS", help=text)


def _repeatable(parser: Any, *names: str, metavar: str, help: str) -> None:
    text = f"{help}; may be repeated"
    parser.add_argument(*names, action="append", default=[], metavar=metavar, help=text)


@contextlib.contextmanager
def using_case(command: str, target: str, options: argparse.Namespace, verb: str) -> Iterator[Case]:
    """Yield the case of a target. If the ``with`` block fails, the error report contains ``verb``,
    such as ``tracing``."""
    with doing(f"preparing {target}"):
        case = case_from_options(command, target, options)
    with doing(f"{verb} {name_of(case.fn)}"):
        yield case


class _Failed(Exception):
    """An error that says what jaxmeter was doing when the exception ``__cause__`` was raised."""


@contextlib.contextmanager
def doing(what: str) -> Iterator[None]:
    """Report what a ``with`` block was doing, such as ``tracing propagate``, if the block fails.
    A `JaxmeterError` is raised unchanged."""
    try:
        yield
    except JaxmeterError:
        raise
    except Exception as error:
        raise _Failed(what) from error


def _print_error(command: str, options: argparse.Namespace, error: BaseException) -> None:
    where = ""
    if isinstance(error, _Failed) and error.__cause__ is not None:
        where, error = f" in {error}", error.__cause__
    traceback.print_exception(error)
    kind, message = type(error).__name__, message_of(error)
    line = _first_line(message)
    if advice := advice_of(error):
        line = f"{line.rstrip('.')}; {advice}"
    print(f"{command}: {kind}{where}: {line}", file=sys.stderr)


def print_failure(command: str, record: Record) -> None:
    """Print the failure, if any, in the record of a worker process.

    If the worker could not use its target or arguments, raise a `JaxmeterError`: this is bad usage
    of the command, not a failure of the function.
    """
    failure = record.failure
    if failure is None:
        return
    if failure.kind == JaxmeterError.__name__ and failure.phase in ("import", "setup"):
        raise JaxmeterError(failure.message)
    if details := (failure.traceback or failure.output).rstrip():
        print(details, file=sys.stderr)
    line = _first_line(failure.message)
    print(f"{command}: {failure.kind} in {failure.phase} of {record.name}: {line}", file=sys.stderr)


def _first_line(message: str) -> str:
    """Return the first line of a message, or of the error that the message quotes.

    XLA and equinox quote the error of a callback at the end of their own message.
    """
    first, *rest = message.strip().splitlines() or [""]
    quoted = [line for line in rest if _QUOTED.match(line)]
    return quoted[-1] if quoted else first


def _write(options: argparse.Namespace, result: Any) -> None:
    if "-" not in (options.json, options.markdown):
        with leaving_reader():
            show(result, every=options.all)
    for option, text in (
        ("json", lambda: result.to_json(indent=2)),
        ("markdown", lambda: markdown(result)),
    ):
        file = getattr(options, option)
        if file == "-":
            with leaving_reader():
                print(text())
        elif file is not None:
            write_answer(f"--{option}", file, text())


def write_answer(option: str, file: str, text: str) -> None:
    """Write a string to the file that an option names."""
    with file_errors(option, file, "give a writable path"):
        write_file(file, text + "\n")
