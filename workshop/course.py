"""The exercises in their order: where they are, how to load one, and whether it is solved."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).parent
EXERCISES, SOLUTIONS = FOLDER / "exercises", FOLDER / "solutions"


class Unsolved(Exception):
    """A check found another quantity than it wants; the message says both."""


def expect(condition: bool, message: str) -> None:
    """Raise `Unsolved` with the message unless the condition holds."""
    if not condition:
        raise Unsolved(message)


@dataclass(frozen=True)
class Exercise:
    """One exercise.

    Parameters
    ----------
    name : str
        Folder and file without its ending, ``1_tracing/1_side_effects``.
    check : callable
        Takes the loaded file as a module, and raises `Unsolved`, or whatever the file raises.
    hints : tuple of str
        From the vaguest to the clearest.
    """

    name: str
    check: Callable[[ModuleType], None]
    hints: tuple[str, ...]

    def file(self, folder: Path = EXERCISES) -> Path:
        """Return its file, among the exercises or the solutions."""
        return folder / f"{self.name}.py"

    def task(self) -> str:
        """Return the text at the top of the file."""
        # Of the solution, which has the same: a participant may delete it.
        return self.file(SOLUTIONS).read_text().split('"""')[1].strip()

    def problem(self, folder: Path = EXERCISES) -> Exception | None:
        """Return why it is not solved; None if it is."""
        try:
            self.check(load(self.file(folder)))
        except Exception as error:
            return error
        return None


def load(path: Path) -> ModuleType:
    """Run a file as a module, again in each call."""
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    exec(compile(path.read_text(), str(path), "exec"), vars(module))
    return module


def explained(problem: Exception, path: Path) -> str:
    """Return what a participant should read: the check's message, or the error with its line."""
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
    return tuple(exercise for block in blocks for exercise in block.EXERCISES)
