"""What the subcommands share: naming a function and its arguments, writing the answer, exit codes.

A subcommand is a module with ``DESCRIPTION``, ``EXIT_CODES``, ``add_options(parser)`` and
``answer(options)``, which returns a result and whether it is good, None if there is no answer.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import importlib
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxmeter._cli.parameters import parameter
from jaxmeter._measure.progress import message_of
from jaxmeter._measure.targets import TARGET, resolve
from jaxmeter._render.terminal import leaving_reader, markdown, show
from jaxmeter.errors import JaxmeterError

if TYPE_CHECKING:
    from jaxmeter._measure.case import Case
    from jaxmeter._records.comparison import Side
    from jaxmeter._records.record import Record

CALLS_HOOK = "jaxmeter_calls"
"""A function of the target's module: ``jaxmeter_calls(name)`` returns the calls to make."""

MEASURE = "measure"
"""What ``jaxmeter`` does where no command is named."""

COMMANDS = {
    "audit": "which arrays are embedded, who holds them, which lines use them",
    "compare": "whether two functions are the same, in what is exact and in their times",
    "retraces": "which calls were traced again, and the argument at fault",
    "diff": "in what the programs of two functions differ",
    "memory": "the largest buffers, and the peaks of a run",
    "calibrate": "what it takes here to compile a megabyte that is embedded",
}
"""What each tells."""


def main(command: str, argv: Sequence[str]) -> int:
    """Run a subcommand; the exit codes are those that its help tells."""
    module: Any = importlib.import_module(f"jaxmeter._cli.{command}")
    asked = "jaxmeter" if command == MEASURE else command
    parser = argparse.ArgumentParser(
        prog="jaxmeter" if command == MEASURE else f"jaxmeter {command}",
        description=module.DESCRIPTION,
        epilog=module.EXIT_CODES,
    )
    module.add_options(parser)
    add_output(parser)
    options = parser.parse_args(argv)
    sys.path.insert(0, os.getcwd())  # as python -m does
    try:
        if options.json == "-" and options.markdown == "-":
            raise JaxmeterError(f"{asked}: got - for both --json and --markdown; give one a file")
        # What the function prints has no part in the answer.
        with contextlib.redirect_stdout(sys.stderr):
            result, is_good = module.answer(options)
        _write(options, result)
    except JaxmeterError as error:
        print(error, file=sys.stderr)
        return 2
    except Exception as error:
        _tell_error(asked, options, error)
        return 3
    finally:
        sys.path.remove(os.getcwd())
    return {True: 0, False: 1, None: 3}[is_good]


class _Failed(Exception):
    """What was done with a function when it raised its cause."""


@contextlib.contextmanager
def doing(what: str) -> Iterator[None]:
    """Let the last line tell what was done, ``tracing step``, when an exception was raised."""
    try:
        yield
    except JaxmeterError:
        raise
    except Exception as error:
        raise _Failed(what) from error


def _tell_error(command: str, options: argparse.Namespace, error: Exception) -> None:
    where = ""
    if isinstance(error, _Failed) and error.__cause__ is not None:
        where, error = f" in {error}", error.__cause__  # pyright: ignore[reportAssignmentType]
    traceback.print_exception(error)
    kind, message = type(error).__name__, message_of(error)
    hint = ""
    if hasattr(options, "static") and "tracer" in f"{kind} {message}".lower():
        hint = "; if Python needs the value of an argument name it, --static NAME"
    told = _first_line(message).rstrip("." if hint else "")
    print(f"{command}: {kind}{where}: {told}{hint}", file=sys.stderr)


def tell_failure(command: str, record: Record) -> None:
    """Say what went wrong in another process, its traceback first.

    Raises
    ------
    JaxmeterError
        If it got something that it cannot use; here it would have been raised as well.
    """
    failure = record.failure
    if failure is None:
        return
    if failure.kind == JaxmeterError.__name__ and failure.phase in ("import", "setup"):
        raise JaxmeterError(failure.message)
    if told := (failure.traceback or failure.output).rstrip():
        print(told, file=sys.stderr)
    print(
        f"{command}: {failure.kind} in {failure.phase} of {record.name}: "
        f"{_first_line(failure.message)}",
        file=sys.stderr,
    )


def _first_line(message: str) -> str:
    return next(iter(message.strip().splitlines()), "")


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
    given.add_argument(
        "--no-args", action="store_true", help="it takes no arguments, and does not make its case"
    )
    add_static(parser)
    add_param(parser)


def add_param(parser: argparse.ArgumentParser) -> None:
    """The option that gives arguments to what makes the case."""
    parser.add_argument(
        "-p",
        "--param",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a keyword argument for what makes the case, a number, true, false, null or a text",
    )


def add_static(parser: argparse.ArgumentParser) -> None:
    """The option that tells which arguments are static."""
    parser.add_argument(
        "--static",
        action="append",
        default=[],
        metavar="NAME",
        help="a static argument, of a function that is not jitted",
    )


TARGET_HELP = (
    "package.module:function; without --arg, --npz, --pickle and --no-args its arguments are those "
    "of jaxmeter_arguments(name) in the module, or else it is called and returns "
    "jaxmeter.Case(fn, args)"
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
    from jaxmeter._cli.arguments import (
        from_module,
        from_npz,
        from_pickle,
        from_texts,
        static_options,
    )
    from jaxmeter._measure.case import Case

    ways = ("arg", "npz", "pickle", "no_args")
    way = next((name for name in ways if getattr(options, name)), None)
    if way is not None and options.param:
        raise JaxmeterError(
            f"{command}: got --param {options.param[0]} beside --{way.replace('_', '-')}; it is "
            "for what makes the case, give arguments by --arg NAME=ARGUMENT"
        )
    if way is None:
        case = from_module(command, fn, target, dict(map(parameter, options.param)))
    else:
        if options.npz:
            args, kwargs = from_npz(options.npz)
        elif options.pickle:
            args, kwargs = from_pickle(options.pickle)
        else:
            args, kwargs = from_texts(options.arg)
        case = Case(fn, tuple(args), kwargs)
    static = static_options(case.fn, options.static)
    return dataclasses.replace(case, jit_options={**case.jit_options, **static})


def prepared(command: str, target: str, options: argparse.Namespace) -> Case:
    """The same, whatever is raised being told to be of this."""
    with doing(f"preparing {target}"):
        return case_of(command, target, options)


def calls_of_module(target: str) -> Any:
    """The calls that the module of a target, which is imported, tells; None if it tells none."""
    module_name, _, name = target.partition(":")
    hook = getattr(sys.modules[module_name], CALLS_HOOK, None)
    return None if hook is None else hook(name)


def _write(options: argparse.Namespace, result: Any) -> None:
    if "-" not in (options.json, options.markdown):
        with leaving_reader():
            show(result)
    for option, file, text in (
        ("--json", options.json, lambda: result.to_json(indent=2)),
        ("--markdown", options.markdown, lambda: markdown(result)),
    ):
        if file == "-":
            with leaving_reader():
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
