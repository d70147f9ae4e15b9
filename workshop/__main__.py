"""The command ``python -m workshop``: check the exercises and show the next exercise."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shlex
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

from workshop.course import EXERCISES, SOLUTIONS, all_exercises, explained

LESSONS = Path(__file__).resolve().parents[1] / "docs" / "workshop"
CELL = re.compile(r"^```\{code-cell\} python\n((?::.*\n)*)(.*?)^```", re.MULTILINE | re.DOTALL)
DESCRIPTION = """Check the exercises in order, and show the first unsolved exercise.

  python -m workshop             show the next exercise
  python -m workshop hint [N]    also show the first N hints
  python -m workshop list        list all exercises
  python -m workshop lesson N    run the code of a lesson
  python -m workshop verify      check that unsolved files fail and solutions pass
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    The exit code is 2 for a wrong argument, 1 if ``verify`` found something wrong, and 0 otherwise,
    even if an exercise is not solved yet.
    """
    parser = argparse.ArgumentParser(
        prog="python -m workshop",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = ("next", "hint", "list", "lesson", "verify")
    parser.add_argument("command", nargs="?", default="next", choices=commands, metavar="command")
    about = "number of hints to show, or number of the lesson to run"
    parser.add_argument("number", nargs="?", type=int, help=about)
    options = parser.parse_args(argv)
    if options.command == "lesson":
        return _lesson(options.number)
    if options.command == "verify":
        return verify()
    if options.command == "list":
        return _list()
    return _next(max(1, options.number or 1) if options.command == "hint" else 0)


def _next(hints: int) -> int:
    """Check the exercises in order; show the first unsolved exercise and `hints` hints."""
    exercises = all_exercises()
    for number, exercise in enumerate(exercises):
        problem = exercise.new_problem()
        if problem is None:
            continue
        print(f"{number} of {len(exercises)} solved. Next: {_shown(exercise.file())}\n")
        print(f"{exercise.task()}\n")
        print("Not yet:", explained(problem, exercise.file()))
        for hint in exercise.hints_for(problem)[:hints]:
            print("Hint:", hint)
        if hints < len(exercise.hints):
            python = shlex.quote(_shown(Path(sys.executable)))
            print(f"For a hint: {python} -m workshop hint {hints + 1}")
        return 0
    print(f"All {len(exercises)} exercises are solved. Now audit a function of your own:")
    print("  .venv/bin/jaxmeter audit step.py:step --arg 'f32[500]'")
    return 0


def _list() -> int:
    """List all exercises and show which of them are solved."""
    states = []
    for exercise in all_exercises():
        states.append(exercise.new_problem() is None)
        print("solved  " if states[-1] else "-       ", _shown(exercise.file()))
    print(f"{sum(states)} of {len(states)} solved")
    return 0


def verify() -> int:
    """Check that unsolved files fail and solutions pass.

    An unsolved file must fail with an error of the check or of JAX.
    """
    import jax

    wrong = 0
    for exercise in all_exercises():
        for folder in (EXERCISES, SOLUTIONS):
            file, problem = exercise.file(folder), exercise.problem(folder)
            fails = type(problem).__module__.startswith(("workshop.", "jax."))
            is_right = fails if folder == EXERCISES else problem is None
            state = "passes" if problem is None else explained(problem, file)
            wrong += not is_right
            print("ok   " if is_right else "WRONG", _shown(file), state.replace("\n ", ""))
    print(f"JAX {jax.__version__}: {wrong} wrong")
    return int(wrong > 0)


def _lesson(number: int | None) -> int:
    """Run a lesson in its folder, as the build of the documentation does; return the exit code."""
    lessons = lesson_files()
    if number is None or not 1 <= number <= len(lessons):
        given = "no number" if number is None else f"lesson {number}"
        print(f"workshop lesson: got {given}; give a number from 1 to {len(lessons)}")
        return 2
    lesson = lessons[number - 1]
    with contextlib.chdir(LESSONS):
        # With the path of the lesson, a traceback names the lesson and the line.
        code = compile(source_of(lesson), str(lesson), "exec", dont_inherit=True)
        exec(code, {"__name__": "__main__", "__file__": str(lesson)})
    return 0


def lesson_files() -> list[Path]:
    """Return the files of the lessons in their order."""
    return sorted(LESSONS.glob("[0-9]-*.md"))


def source_of(lesson: Path) -> str:
    """Return the code of a lesson's cells; each line has the same line number as in the lesson."""
    text = lesson.read_text()
    lines = [""] * text.count("\n")
    for cell in CELL.finditer(text):
        first = text.count("\n", 0, cell.start(2))
        code = cell[2].splitlines()
        lines[first : first + len(code)] = code
    return "\n".join(lines)


def _shown(file: Path) -> str:
    """Return the path of a file, relative to the current folder if the file is in this folder."""
    here = Path.cwd()
    return str(file.relative_to(here) if file.is_relative_to(here) else file)


if __name__ == "__main__":
    # Checks and lessons count compiles. With a persistent cache, JAX would skip some of them.
    os.environ["JAX_ENABLE_COMPILATION_CACHE"] = "false"
    warnings.simplefilter("ignore", ResourceWarning)
    sys.exit(main())
