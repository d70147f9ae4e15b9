"""Run a program unchanged, and show which functions it compiled, which lines called them, and why
they were compiled. Also show which changes would save time.

example: jaxmeter watch -- python script.py --its --arguments
(instead of python script.py, give -m module, or pytest and its arguments)

The results are written to watch.html and watch.json, and a summary is printed to standard error.
Every Python process that the program starts is watched, even if the process crashes. The exceptions
are processes that do not get the environment variables of their parent, or that were started with
python -I, -E or -S.

exit codes: 0 to 255 the exit code of the program. Codes 2 and 3 may also come from jaxmeter: 2 for
bad usage, 3 for an error of jaxmeter
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from jaxmeter._cli.command import write_answer
from jaxmeter._records.files import file_errors, temporary_folder
from jaxmeter._records.plain_data import checked
from jaxmeter._records.run import WatchedRun
from jaxmeter._render.run.page import run_page
from jaxmeter._watch.launch import watch_program


def add_options(parser: argparse.ArgumentParser) -> None:
    add_program(parser)
    parser.add_argument(
        "--out",
        metavar="FOLDER",
        default="jaxmeter-watch",
        help="the folder for watch.html and watch.json (default %(default)s)",
    )
    parser.add_argument(
        "--profile",
        type=int,
        default=0,
        metavar="COUNT",
        help="when a process ends, compile its COUNT slowest functions again, and show which lines "
        "and kernels take the time",
    )


def add_program(parser: argparse.ArgumentParser) -> None:
    """Add the positional argument for the program with its arguments."""
    parser.add_argument(
        "program", nargs=argparse.REMAINDER, help="the program and its arguments, after --"
    )


def run(options: argparse.Namespace) -> tuple[WatchedRun, int]:
    folder = Path(options.out).absolute()
    with file_errors("watch: --out", options.out, "give a folder in which files can be written"):
        folder.mkdir(parents=True, exist_ok=True)  # fail before the program runs
    checked("watch", "--profile", options.profile, Annotated[int, Meta(ge=0)])
    with temporary_folder("jaxmeter-watch-") as events:
        variables = {"JAXMETER_WATCH_PROFILES": str(options.profile)}
        found = watch_program(options.program, events, variables=variables)
    write_answer("--out", str(folder / "watch.html"), run_page(found))
    write_answer("--out", str(folder / "watch.json"), found.to_json(indent=1))
    print(f"watch: wrote {folder / 'watch.html'} and watch.json", file=sys.stderr)
    return found, found.exit_code
