"""Find the lines in which two commits differ, and the line nearest to a change of a program."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

MAX_FAR = 3  # with more edits than this, no edit in another file is returned
Place = tuple[str, str, int]
"""A place in the code: file, function, and line number in HEAD."""


@dataclass(frozen=True)
class EditedLine:
    """A line of code that is new in HEAD, or the first removed line of an edit without new lines.

    A removed line has the number of the line that is now in its place. A line removed from the end
    of the file has the number of the new last line.
    """

    file: str
    """Path of the file, starting with its package, such as ``vcjax/_casing.py``."""
    line: int
    function: str
    """The top-level function or class that contains the line, or an empty string."""
    text: str
    edit: int = 0
    """Number of the edit that contains the line; edits are numbered within a file."""

    def __str__(self) -> str:
        return f"edited: {self.file}:{self.line} in {self.function or 'the module'}: {self.text}"


def edited_lines(base: Path, head: Path) -> tuple[EditedLine, ...]:
    """Return the lines of code in which two versions of a package differ.

    `base` and `head` are the folders of the two versions. Changes of docstrings, of blank lines
    and of lines that are only comments are ignored.
    """
    names = {path.relative_to(side) for side in (base, head) for path in side.rglob("*.py")}
    return tuple(one for name in sorted(names) for one in _of_file(base, head, name))


def _of_file(base: Path, head: Path, name: Path) -> Iterator[EditedLine]:
    paths = (base / name, head / name)
    before, now = (path.read_text(encoding="utf-8") if path.exists() else "" for path in paths)
    if before == now:
        return
    old, new = before.splitlines(), now.splitlines()
    spans = [
        (node.lineno, node.end_lineno or 0, node.name)
        for node in _nodes(now)
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.col_offset
    ]
    code = [_code_lines(before, old), _code_lines(now, new)]
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for number, (kind, first, last, start, end) in enumerate(matcher.get_opcodes()):
        if kind == "equal":
            continue
        changed = [(i + 1, new[i].strip()) for i in range(start, end) if i + 1 in code[1]]
        if not changed:
            gone = [old[i].strip() for i in range(first, last) if i + 1 in code[0]]
            changed = [(min(start + 1, max(1, len(new))), f"{text} (gone)") for text in gone[:1]]
        for line, text in changed:
            function = next((name for low, high, name in spans if low <= line <= high), "")
            yield EditedLine(f"{head.name}/{name.as_posix()}", line, function, text, number)


def _nodes(text: str) -> list[ast.AST]:
    try:
        return list(ast.walk(ast.parse(text)))
    except SyntaxError:  # importing the file also fails, and that failure is reported
        return []


def _code_lines(text: str, lines: Sequence[str]) -> set[int]:
    """Return the numbers of the lines that are not blank, comments or docstrings."""
    docstrings = {
        line
        for node in _nodes(text)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for line in range(node.lineno, (node.end_lineno or 0) + 1)
    }
    return {
        number
        for number, line in enumerate(lines, start=1)
        if line.strip() and not line.lstrip().startswith("#") and number not in docstrings
    }


def nearest(edits: Sequence[EditedLine], seen: Sequence[Place]) -> EditedLine | None:
    """Return the edited line nearest to a change of a program, or None.

    `seen` are the places where the program changed, the most important place first. An edit on a
    line where the program changed is nearest. Edits in the same function come next, then edits in
    the same file. If all edits are in other files, the result is the first edited line, or None if
    there are more than `MAX_FAR` edits.
    """

    def distance(edit: EditedLine) -> tuple[int, int]:
        own = edit.file, edit.function, edit.line
        for rank, parts in enumerate(((0, 2), (0, 1), (0,))):
            for at, place in enumerate(seen):
                if all(own[part] == place[part] for part in parts):
                    return rank, at
        return len(own), 0

    best = min(edits, key=distance, default=None)
    far = best is not None and distance(best)[0] == 3
    return None if far and len({(one.file, one.edit) for one in edits}) > MAX_FAR else best
