"""Share imports, options, progress, output and exit codes among the scripts of this folder.

The scripts import this module before other modules of the project, because it changes the import
path: the checkout and jaxmeter come after the installed packages, and this folder comes last. In
another order, the script `trace.py` would hide Python's module `trace`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:] = [part for part in sys.path if Path(part or os.curdir).resolve() != HERE]
sys.path += [str(ROOT), str(ROOT / "jaxmeter" / "src"), str(HERE)]

import jaxmeter  # noqa: E402
from jaxmeter import JaxmeterError  # noqa: E402

if TYPE_CHECKING:
    import pandas as pd

RESULTS = Path("results/profile")
OR_FUNCTION = f", or {jaxmeter.TARGET_HELP}"
"""End of the help text of a positional argument that may name a function."""
ARGUMENTS = ("arg", "npz", "pickle", "no_args", "static")
"""Options that give the arguments of a function."""
_EXIT_CODES = (
    "exit codes: 0 done; 1 done, but the trace, capture or measurement lacks results; 2 an error "
    "that the message explains, such as bad usage; 3 the function failed; 130 interrupted"
)
_INSTALL = (
    "the tables need pandas and pyarrow; run pip install -e '.[report]' or pip install "
    "'jaxmeter[tables]'"
)


def parser_of(description: str | None, *, target: str | None = None) -> argparse.ArgumentParser:
    """Return an argument parser that raises a `JaxmeterError` for bad usage.

    `target` is the help text of a positional argument that names a file or a function. If `target`
    is given, the parser has this argument, and options for the function's arguments and for the
    script's tables.
    """
    parser = argparse.ArgumentParser(
        description=description,
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.error = _usage_error  # type: ignore[method-assign]
    if target is not None:
        jaxmeter.add_target_options(parser, help=target)
        parser.add_argument(
            "--out", type=Path, help=f"folder for the tables; by default in {RESULTS}"
        )
        about = "rows of each table to print; default: 15"
        parser.add_argument("--top", type=partial(count, least=0), default=15, help=about)
    return parser


def _usage_error(message: str) -> None:
    raise JaxmeterError(message)


def count(text: str, *, least: int = 1) -> int:
    """Return the value of an option that is a whole number, `least` or more."""
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"got {text!r}; give a whole number, {least} or more")
    return int(text)


def run(
    name: str, work: Callable[[Sequence[str] | None], bool], argv: Sequence[str] | None = None
) -> int:
    """Run the work of a script with command-line arguments, and return the exit code.

    The current folder is on the import path. Errors are printed, not raised. ``work`` returns False
    if results are missing; the exit code is then 1.
    """
    # Find modules in the current folder, as the command jaxmeter does.
    folders = [] if Path.cwd() == HERE else [os.getcwd()]
    sys.path[:0] = folders
    try:
        good = work(argv)
        sys.stdout.flush()
    except JaxmeterError as error:
        say(f"{name}: {str(error).removeprefix(f'{name}: ')}")
        return 2
    except BrokenPipeError:
        # The reader of the output closed the pipe: discard the output that Python flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except KeyboardInterrupt:
        say(f"{name}: interrupted")
        return 130
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name in ("pandas", "pyarrow"):
            say(f"{name}: {_INSTALL}")
            return 2
        traceback.print_exc()
        return 3
    finally:
        for folder in folders:
            with contextlib.suppress(ValueError):
                sys.path.remove(folder)
    return 0 if good else 1


def existing(options: argparse.Namespace) -> Path | None:
    """Return the file or folder that the target names; None if the target names a function."""
    target = options.target
    if Path(target).exists():
        refuse(options, (*ARGUMENTS, "param"), "only a function as target uses; leave it out")
        return Path(target)
    if jaxmeter.is_target(target):
        return None
    raise JaxmeterError(
        f"got target={target!r}, which is not an existing file or folder and does not name a "
        "function; give the path of a file or folder, or 'package.module:function' or "
        "'file.py:function'"
    )


def refuse(options: argparse.Namespace, names: Sequence[str], why: str) -> None:
    """Raise a `JaxmeterError` if an option among `names` is given, because it would be ignored."""
    for name in names:
        if getattr(options, name):
            raise JaxmeterError(f"got --{name.replace('_', '-')}, which {why}")


def case_of(name: str, options: argparse.Namespace) -> jaxmeter.Case:
    """Set up JAX, and return the case that the options describe: a function with its arguments."""
    start_jax()
    try:
        return jaxmeter.case_from_options(name, options.target, options)
    except ModuleNotFoundError as error:
        module = options.target.partition(":")[0]
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # the module exists, but it imports a missing module
        raise JaxmeterError(
            f"got target={options.target!r}, but no module {error.name!r} is installed or in "
            f"{os.getcwd()!r}; check its name, or run the script in the folder of the module"
        ) from None


def start_jax() -> None:
    """Turn on 64-bit numbers for vcjax; if JAX_ENABLE_X64 is set, leave JAX as it is."""
    import jax

    if "JAX_ENABLE_X64" not in os.environ:
        jax.config.update("jax_enable_x64", True)


def say(text: str) -> None:
    """Print a line of progress on standard error; tables are printed on standard output."""
    print(text, file=sys.stderr, flush=True)


def show(
    tables: Mapping[str, pd.DataFrame], columns: Mapping[str, Sequence[str]], top: int
) -> None:
    """Print the first `top` rows of some tables, with units in the cells.

    `columns` maps the name of each printed table to the columns that are printed.
    """
    for name, chosen in columns.items():
        table = tables[name]
        more = f" (first {top} of {len(table)})" if len(table) > top else ""
        print(f"\n{name}{more}")
        if table.empty:
            print("  empty")
            continue
        few: Any = table[list(chosen)].head(top)
        texts = {name: text for name in few if (text := _formatter(name, str(few[name].dtype)))}
        print(few.to_string(index=False, float_format="{:.4g}".format, formatters=texts))


def _formatter(column: str, dtype: str) -> Callable[[Any], str] | None:
    """Return a function that formats the values of a column by the unit at the end of its name.

    For a column of text, the function shortens long values. For other columns, return None if the
    name ends in no known unit.
    """
    if dtype == "string":
        return _shortened
    texts: dict[str, Callable[[Any], str]] = {
        "seconds": jaxmeter.seconds_text,
        "bytes": lambda size: "-" * (size < 0) + jaxmeter.bytes_text(abs(size)),
        "fraction": "{:.1%}".format,
        "occupancy": "{:.1%}".format,
    }
    text = texts.get(column.rpartition("_")[2])
    # Only a missing number (NaN) is not equal to itself.
    return text and (lambda value: text(value) if value == value else "")


def conclusion(scopes: pd.DataFrame, seconds: str, steps: Sequence[float] = ()) -> str:
    """Return a line with the slowest named scope, such as ``59 % in `laplacian`, 31 ms a run``.

    If no operation is in a named scope, the line says so. The table `scopes` has a column ``scope``
    and a column of times. `seconds` is the name of the column of times. `steps` are the elapsed
    seconds of each run, if known.
    """
    spent: Any = scopes.groupby("scope")[seconds].sum()
    spent = spent.sort_values(ascending=False)
    named = spent[spent.index != ""]
    total = float(spent.sum())
    where = "no operation is in a named scope: add jax.named_scope to the function"
    if len(named) and total:
        where = f"{100 * float(named.iloc[0]) / total:.0f} % in `{named.index[0]}`"
    if not steps:
        return where
    return f"{where}, {jaxmeter.seconds_text(statistics.median(steps), 2)} a run"


def _shortened(text: Any) -> str:
    """Shorten a long text at its beginning, because names differ most at their end."""
    return str(text) if len(str(text)) <= 56 else f"..{text[-54:]}"


def save(
    tables: Mapping[str, pd.DataFrame],
    folder: Path,
    *,
    live: bool,
    source: str,
    records: Iterable[jaxmeter.Record] = (),
) -> None:
    """Save all tables with the environment, and print the folder.

    If this process has run JAX (`live`), the environment includes JAX's backend. An environment in
    the `records` of worker processes replaces the environment of this process. `source` is the file
    or folder from which the tables were made; ``environment.json`` names it.
    """
    from jaxmeter import tables as jt

    measured_in = (record.environment for record in records if record.environment is not None)
    environment = next(measured_in, None) or jaxmeter.host_environment()
    if live:
        environment = replace(environment, **jaxmeter.jax_environment())
    jt.save(tables, folder, environment, notes={"source": source})
    say(f"tables: {folder} ({len(tables)}, as .parquet and .csv)")


def folder_for(options: argparse.Namespace, kind: str, name: str) -> Path:
    """Return the folder of ``--out``, by default ``results/profile/<kind>-<name>``."""
    folder = options.out or RESULTS / f"{kind}-{plain(name)}"
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        what = "cannot be written" if there.is_dir() else "is a file"
        raise JaxmeterError(
            f"cannot write tables to {str(folder)!r}: {str(there)!r} {what}; give a folder "
            "for --out that can be written"
        )
    return folder


def plain(name: str) -> str:
    """Return a name with hyphens in place of characters that are unsafe in a path."""
    return "-".join("".join(c if c.isalnum() or c in "._" else " " for c in name).split())
