"""The source lines that two commits differ in, those nearest to a changed program first."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

MAX_FAR = 3  # more edits than these, none of them near, say nothing about a program


@dataclass(frozen=True)
class EditedLine:
    """The first line of an edit: in HEAD, or, where lines are only gone, what now follows them."""

    file: str
    """Its path from the folder of its package on: ``vcjax/_casing.py``."""
    line: int
    function: str
    """The function around it at the top of its module; empty for none."""
    text: str

    def __str__(self) -> str:
        return f"edited: {self.file}:{self.line} in {self.function or 'the module'}: {self.text}"


def edited_lines(base: Path, head: Path) -> tuple[EditedLine, ...]:
    """Return the edits of code between two folders of one package; comments are left out."""
    names = {path.relative_to(side) for side in (base, head) for path in side.rglob("*.py")}
    return tuple(one for name in sorted(names) for one in _of_file(base, head, name))


def _of_file(base: Path, head: Path, name: Path) -> Iterator[EditedLine]:
    before, now = (_text(side / name) for side in (base, head))
    if before == now:
        return
    old, new = before.splitlines(), now.splitlines()
    try:
        nodes = ast.parse(now).body
    except SyntaxError:  # what cannot be imported has failed, which says enough
        nodes = []
    spans = [
        (node.lineno, node.end_lineno or 0, node.name)
        for node in nodes
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for kind, first, last, start, end in matcher.get_opcodes():
        changed = [(start + i, text) for i, text in enumerate(new[start:end]) if _is_code(text)]
        gone = [(start, text) for text in old[first:last] if _is_code(text)]
        if kind == "equal" or not (changed or gone):
            continue
        index, text = (changed or gone)[0]
        line = min(index + 1, max(1, len(new)))
        function = next((name for low, high, name in spans if low <= line <= high), "")
        shown = text.strip() if changed else f"{text.strip()} (gone)"
        yield EditedLine(f"{head.name}/{name.as_posix()}", line, function, shown)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _is_code(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def nearest(edits: Sequence[EditedLine], seen: Sequence[tuple[str, str]]) -> EditedLine | None:
    """Return the edit nearest to a change of a program; None where no edit is near.

    Parameters
    ----------
    seen : sequence of (file, function)
        Where the program changed, the largest change first. An edit in one of the functions comes
        first, then one in one of the files; of edits elsewhere only few are taken.
    """

    def distance(edit: EditedLine) -> tuple[int, int]:
        for rank, place in enumerate(((edit.file, edit.function), edit.file)):
            found = [at for at, one in enumerate(seen) if place in (one, one[0])]
            if found:
                return rank, found[0]
        return 2, 0

    best = min(edits, key=distance, default=None)
    far = best is not None and distance(best)[0] == 2
    return None if far and len(edits) > MAX_FAR else best
