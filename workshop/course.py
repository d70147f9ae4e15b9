"""Load and check the exercises, explain errors, and record which exercises are solved."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).parent
EXERCISES, SOLUTIONS = FOLDER / "exercises", FOLDER / "solutions"
SOLVED = FOLDER / ".solved.json"
"""The file that lists the solved exercises, each with a digest. Git ignores this file."""


class Unsolved(Exception):
    """Error that a check raises if the exercise is not solved; the message says what is wrong.

    `hint` is the number of the hint that helps, counted from 0.
    """

    def __init__(self, message: str, hint: int = 0) -> None:
        super().__init__(message)
        self.hint = hint


def expect(condition: bool, message: str, *, hint: int = 0) -> None:
    """Raise `Unsolved` with a message and the number of a hint, unless the condition holds."""
    if not condition:
        raise Unsolved(message, hint)


@dataclass(frozen=True)
class Exercise:
    """An exercise of the workshop."""

    name: str
    """Folder and file name without the ending, such as ``1_tracing/1_side_effects``."""
    check: Callable[[ModuleType], None]
    """Function that raises an error if the loaded file does not solve the exercise.

    The error is `Unsolved`, or an error of the file's own code.
    """
    hints: tuple[str, ...]
    """All hints of the exercise; `Unsolved.hint` is an index into this tuple."""

    def file(self, folder: Path = EXERCISES) -> Path:
        """Return the path of the exercise in a folder, `EXERCISES` or `SOLUTIONS`."""
        return folder / f"{self.name}.py"

    def task(self) -> str:
        """Return the text of the task, from the top of the file.

        If this text is missing, return a message with a git command that shows the original file.
        """
        text = self.file().read_text(errors="replace").lstrip() if self.file().exists() else ""
        if not text.startswith('"""'):
            file = f"{EXERCISES.name}/{self.name}.py"
            return (
                f"The file does not begin with its task. To show it: git show HEAD:workshop/{file}"
            )
        return text.split('"""')[1].strip()

    def problem(self, folder: Path = EXERCISES) -> BaseException | None:
        """Check the file in a folder; return the error of the check, or None if the file passes."""
        try:
            self.check(load(self.file(folder)))
        except (Exception, SystemExit) as error:
            return error
        return None

    def hints_for(self, problem: BaseException) -> tuple[str, ...]:
        """Return all hints, starting with the hint for this problem."""
        first = getattr(problem, "hint", 0)
        return self.hints[first:] + self.hints[:first]

    def new_problem(self) -> BaseException | None:
        """Check the exercise; return the error of the check, or record that the exercise is solved.

        Return None without a check if the exercise was solved before, with the same file, the same
        checks and the same version of JAX.
        """
        now, passed = self._digest(), _passed()
        if passed.get(self.name) == now:
            return None
        problem = self.problem()
        if problem is None:
            SOLVED.write_text(json.dumps(passed | {self.name: now}, indent=1) + "\n")
        return problem

    def _digest(self) -> str:
        """Return a digest of the file, of the code of the checks, and of the version of JAX."""
        digest = hashlib.sha256(importlib.metadata.version("jax").encode())
        for file in (self.file(), *sorted((FOLDER / "checks").glob("*.py"))):
            digest.update(file.read_bytes() if file.exists() else b"")
        return digest.hexdigest()


def exercise(name: str, *hints: str) -> Callable[[Callable[[ModuleType], None]], Exercise]:
    """Return a decorator that turns a check into an `Exercise` with this name and these hints."""
    return lambda check: Exercise(name, check, hints)


def _passed() -> dict[str, str]:
    """Return the digests of the solved exercises; {} if `SOLVED` cannot be read."""
    try:
        return dict(json.loads(SOLVED.read_text()))
    except (OSError, ValueError):
        return {}


def load(path: Path) -> ModuleType:
    """Run a file and return it as a new module."""
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    sys.modules[path.stem] = module  # dataclasses look for the names in annotations there
    # Without `dont_inherit`, the annotations would be strings, as they are in this file.
    exec(compile(path.read_text(), str(path), "exec", dont_inherit=True), vars(module))
    return module


def explained(problem: BaseException, path: Path) -> str:
    """Return the text of a problem for a participant.

    For `Unsolved`, the text is the message of the check. For other errors, the text has the type,
    the first line of the message, and the line of the file `path` in which the error occurred, if
    the traceback has such a line.
    """
    if isinstance(problem, Unsolved):
        return str(problem)
    if isinstance(problem, SyntaxError):
        return f"SyntaxError in line {problem.lineno}: {problem.msg}"
    frames = [f for f in traceback.extract_tb(problem.__traceback__) if f.filename == str(path)]
    place = f" in line {frames[-1].lineno}: {frames[-1].line}" if frames else ""
    message = next(iter(str(problem).strip().splitlines()), "")
    return f"{type(problem).__name__}{place}\n  {message}"


def all_exercises() -> tuple[Exercise, ...]:
    """Return all exercises in their order."""
    from workshop.checks import constants, costs, recompilation, review, timing, tracing

    blocks = (tracing, timing, recompilation, constants, costs, review)
    return tuple(e for block in blocks for e in vars(block).values() if isinstance(e, Exercise))
