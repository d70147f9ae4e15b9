"""Run the code cells of the lessons as plain Python, without a notebook."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "workshop"
CELL = re.compile(r"^```\{code-cell\} python\n((?::.*\n)*)(.*?)^```", re.MULTILINE | re.DOTALL)


def lesson_files() -> list[Path]:
    """Return the lessons in their order."""
    return sorted(FOLDER.glob("[0-9]-*.md"))


def source_of(lesson: Path) -> str:
    """Return the code of all cells, with the same line numbers as in the lesson."""
    text = lesson.read_text()
    lines = [""] * text.count("\n")
    for cell in CELL.finditer(text):
        first = text.count("\n", 0, cell.start(2))
        code = cell[2].splitlines()
        lines[first : first + len(code)] = code
    return "\n".join(lines)


def run_lesson(lesson: Path) -> None:
    """Run a lesson in its folder, as the site does. A traceback names the lesson and the line."""
    with contextlib.chdir(FOLDER):
        code = compile(source_of(lesson), str(lesson), "exec")
        exec(code, {"__name__": "__main__", "__file__": str(lesson)})
