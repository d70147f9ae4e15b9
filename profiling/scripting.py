"""What the scripts beside this file share: where imports are found, options, progress, exit codes.

Imported first, for it puts the checkout and jaxmeter behind what is installed, and this folder
last: its `trace.py` must not hide Python's own.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:] = [part for part in sys.path if Path(part or os.curdir).resolve() != HERE]
sys.path += [str(ROOT), str(ROOT / "jaxmeter" / "src"), str(HERE)]

from jaxmeter import (  # noqa: E402
    JaxmeterError,
    Record,
    add_target_options,
    case_from_options,
    host_environment,
    jax_environment,
)

if TYPE_CHECKING:
    import pandas as pd

    from jaxmeter import Case

RESULTS = Path("results/profile")
EXIT_CODES = (
    "exit codes: 0 done; 1 done, but what was asked for is not there; 2 bad usage, or an artefact "
    "that cannot be read; 3 the function failed; 130 interrupted"
)
_INSTALL = "the tables need pandas and pyarrow; pip install -e '.[report]' or 'jaxmeter[tables]'"


def parser_of(description: str | None, *, target: str | None = None) -> argparse.ArgumentParser:
    """A parser with the options that all scripts have; with `target`, also those that name one."""
    parser = argparse.ArgumentParser(
        description=description,
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.error = _usage_error  # type: ignore[method-assign]
    if target is not None:
        add_target_options(parser, help=target)
    parser.add_argument("--out", type=Path, help=f"folder for the tables; else in {RESULTS}")
    parser.add_argument("--top", type=_rows, default=15, help="rows of each table to print")
    return parser


def _usage_error(message: str) -> None:
    raise JaxmeterError(message)


def _rows(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"got {text!r}; give a number of rows, 0 or more")
    return int(text)


def run(name: str, work: Callable[[], bool]) -> int:
    """The exit code of a script's work, which tells whether what was asked for is there."""
    here = os.getcwd()
    sys.path.insert(0, here)  # functions are named from where one is, as jaxmeter does
    try:
        good = work()
        sys.stdout.flush()
    except JaxmeterError as error:
        say(f"{name}: {str(error).removeprefix(f'{name}: ')}")
        return 2
    except ModuleNotFoundError as error:
        if error.name not in ("pandas", "pyarrow"):
            traceback.print_exc()
            return 3
        say(f"{name}: {_INSTALL}")
        return 2
    except BrokenPipeError:
        # Whoever reads has seen enough. Python flushes once more when it ends: into nothing.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except KeyboardInterrupt:
        say(f"{name}: interrupted")
        return 130
    except Exception:
        traceback.print_exc()
        return 3
    finally:
        sys.path.remove(here)
    return 0 if good else 1


def case_of(name: str, options: argparse.Namespace) -> Case:
    """The function that the options name, with its arguments; JAX is started.

    Raises
    ------
    JaxmeterError
        If there is no such module, or no such function in it.
    Exception
        Whatever importing it or making the case raises.
    """
    start_jax()
    try:
        return case_from_options(name, options.target, options)
    except ModuleNotFoundError as error:
        module = options.target.partition(":")[0]
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # the module is there, but what it needs is not
        raise JaxmeterError(
            f"got target={options.target!r}, but no module {error.name!r} is installed or in "
            f"{os.getcwd()!r}"
        ) from None


def start_jax() -> None:
    """64-bit numbers, as vcjax needs, unless the environment says otherwise."""
    import jax

    if "JAX_ENABLE_X64" not in os.environ:
        jax.config.update("jax_enable_x64", True)


def say(text: str) -> None:
    """A line of progress, where it does not get into a table that is piped."""
    print(text, file=sys.stderr, flush=True)


def show(
    tables: Mapping[str, pd.DataFrame], columns: Mapping[str, Sequence[str]], top: int
) -> None:
    """Print the first rows of some tables."""
    for name, chosen in columns.items():
        table = tables[name]
        rest = len(table) - top
        print(f"\n{name}" + (f" (first {top} of {len(table)})" if rest > 0 else ""))
        if table.empty:
            print("  empty")
            continue
        few: Any = table[list(chosen)].head(top)
        print(few.to_string(index=False, float_format="{:.4g}".format, formatters=_cut(few)))


def _cut(table: Any) -> dict[str, Any]:
    """Formatters that shorten texts from the left, where what tells them apart is last."""
    texts = [column for column in table.columns if str(table[column].dtype) == "string"]
    return {
        column: lambda text: text if len(str(text)) <= 56 else f"..{text[-54:]}" for column in texts
    }


def save(
    tables: Mapping[str, pd.DataFrame],
    folder: Path,
    *,
    live: bool,
    records: Iterable[Record] = (),
    **notes: Any,
) -> None:
    """Save all tables beside the environment and say where.

    Parameters
    ----------
    live : bool
        Whether this process made the artefact with JAX; else JAX is left alone.
    records : iterable of Record
        Those of worker processes: the first tells the environment.
    """
    from jaxmeter import tables as artefacts

    environments = (one.environment for one in records if one.environment is not None)
    environment = next(environments, None) or host_environment()
    if live:
        environment = replace(environment, **jax_environment())
    artefacts.save(tables, folder, environment, notes=notes)
    say(f"tables: {folder} ({len(tables)}, as .parquet and .csv)")


def folder_for(options: argparse.Namespace, kind: str, name: str) -> Path:
    """Where the tables go; told before the work begins if nothing can be written there.

    Raises
    ------
    JaxmeterError
        If it is a file, or no folder can be made there.
    """
    folder = options.out or RESULTS / f"{kind}-{plain(name)}"
    there = next(one for one in (folder, *folder.absolute().parents) if one.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        what = "cannot be written" if there.is_dir() else "is a file"
        raise JaxmeterError(f"got --out {str(folder)!r}, but {str(there)!r} {what}; give a folder")
    return folder


def plain(name: str) -> str:
    """A name as a part of a path."""
    return "-".join("".join(c if c.isalnum() or c in "._" else " " for c in name).split())


def measured(
    points: Mapping[str, Any],
    store: Path,
    *,
    target: str,
    params: Callable[[Any], Mapping[str, Any]],
    rounds: int,
    repeat: int,
    timeout_seconds: float,
) -> list[list[Record]]:
    """The records of each point, one for each worker process, measured where they are not kept.

    Rounds of the points are interleaved. A record that is ``ok`` is not measured again as long as
    vcjax, JAX, the machine and the parameters are the same.

    Parameters
    ----------
    points : mapping
        By what to call them; their folder also bears a digest of all that decides a record.
    target : str
        What makes the case in the worker, out of a module in this folder, called with what
        `params` gives for a point.
    """
    from benchmarks.measuring.plan import PlannedCase
    from benchmarks.measuring.progress import Progress
    from benchmarks.measuring.runner import measure_plan
    from benchmarks.measuring.store import RecordStore
    from jaxmeter import run_case

    class Begun(Progress):
        """A line also when a process begins: each takes its time."""

        def begin(self, case: str, round_index: int) -> None:
            self.write(f"[{self.done}/{self.total}] {case}, process {round_index + 1}: begun")

    def run_here(case: Any) -> Record:
        return run_case(replace(case, path=(*case.path, str(HERE), os.getcwd())))

    kept = RecordStore(store / code_version())
    cases = [
        PlannedCase(
            name=_folder_of(name, target, repeat, **params(point)),
            target=target,
            params=params(point),
            rounds=rounds,
            repeat=repeat,
            timeout_seconds=timeout_seconds,
        )
        for name, point in points.items()
    ]
    measure_plan(cases, kept, Begun(rounds * len(points), say), run_case=run_here)
    found = [[kept.read(case, number) for number in range(rounds)] for case in cases]
    return [[record for record in records if record is not None] for records in found]


def _folder_of(name: str, *decides: Any, **params: Any) -> str:
    digest = hashlib.sha256(json.dumps([decides, params], sort_keys=True).encode()).hexdigest()
    return f"{plain(name)[:80]}-{digest[:8]}".lstrip("-")


def code_version() -> str:
    """A short name for the code of vcjax, this JAX and this machine."""
    told = hashlib.sha256()
    for path in sorted((ROOT / "vcjax").rglob("*.py")):
        told.update(path.read_bytes())
    environment = host_environment()
    told.update(f"{environment.jax} {environment.jaxlib} {environment.machine}".encode())
    return told.hexdigest()[:12]
