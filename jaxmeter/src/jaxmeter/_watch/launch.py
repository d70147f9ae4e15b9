"""Run a program so that the program's Python processes record their compiles.

A process records nothing if it starts without the PYTHONPATH of its parent, or ignores PYTHONPATH
(``python -I``); see ``start/sitecustomize.py``.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import jaxmeter
from jaxmeter._records.run import WatchedRun
from jaxmeter._watch.read import read_run
from jaxmeter.errors import JaxmeterError


def watch_program(
    command: Sequence[str],
    folder: Path,
    *,
    variables: Mapping[str, str],
    call: str = "watch",
) -> WatchedRun:
    """Run a program to its end, and return the record of its compiles.

    ``-m module`` and ``script.py`` are run by this Python. An executable script with a shebang
    line, such as ``./script.py``, is run directly. The events are written to ``folder``, an empty
    or new folder. ``variables`` are added to the environment of the program. Error messages name
    ``call``, a command of jaxmeter.
    """
    argv = _argv(command, call)
    paths = str(Path(__file__).parent / "start"), os.environ.get("PYTHONPATH")
    environment = {
        **os.environ,
        **variables,
        "JAXMETER_WATCH_FOLDER": str(folder.resolve()),
        "JAXMETER_WATCH_SOURCE": str(Path(jaxmeter.__file__).parents[1]),
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
    }
    folder.mkdir(exist_ok=True)
    began = time.time()
    try:
        process = subprocess.Popen(argv, env=environment)
    except OSError as error:
        raise JaxmeterError(
            f"{call}: got the program {argv[0]!r} ({error.strerror or error}); give a program that "
            f"can be run, such as: jaxmeter {call} -- python script.py"
        ) from None
    with _passing_signals_to(process):
        # The program handles an interrupt in its own way, so wait until the program ends.
        code = process.wait()
    exit_code = 128 - code if code < 0 else code
    return read_run(folder, argv, exit_code, began, time.time())


def _argv(command: Sequence[str], call: str) -> list[str]:
    if command and command[0] == "--":
        command = command[1:]
    if not command or not command[0]:
        raise JaxmeterError(
            f"{call}: got no program; give a program after --, such as: "
            f"jaxmeter {call} -- python script.py"
        )
    first = command[0]
    if first == "-m" or (first.endswith(".py") and not _has_shebang(first)):
        return [sys.executable, *command]
    if os.sep not in first and shutil.which(first) is None:
        beside = Path(sys.executable).parent / first  # this environment may not be activated
        if beside.exists():
            return [str(beside), *command[1:]]
    return list(command)


def _has_shebang(script: str) -> bool:
    """Return whether a script has a shebang (``#!``), is executable, and is given by a path with a
    separator, such as ``./script.py``."""
    if os.sep not in script or not os.access(script, os.X_OK) or os.path.isdir(script):
        return False
    with open(script, "rb") as file:
        return file.read(2) == b"#!"


@contextlib.contextmanager
def _passing_signals_to(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Forward SIGINT, SIGTERM and SIGHUP from this process to the program.

    An interrupt from a terminal is not forwarded, because the terminal sends it to both processes.
    """

    def pass_on(number: int, _: object) -> None:
        if number != signal.SIGINT or not _from_terminal():
            process.send_signal(number)

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    earlier = {number: signal.signal(number, pass_on) for number in numbers}
    try:
        yield
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)


def _from_terminal() -> bool:
    with contextlib.suppress(OSError), open("/dev/tty", "rb", buffering=0) as terminal:
        return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    return False
