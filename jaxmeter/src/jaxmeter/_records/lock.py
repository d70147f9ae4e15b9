"""Define the comparison of quantities in the lock file with quantities measured now."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from jaxmeter._records.plain_data import FrozenDict, Result

Quantities = Mapping[str, int]
"""The exact quantities of a function, by name."""


@dataclass(frozen=True)
class LockChange:
    """A difference between the lock file and the measurement.

    Either a quantity changed, or a function or quantity is only in the file or only in the
    measurement.
    """

    function: str
    quantity: str
    """The name of the quantity; empty if the change concerns a whole function."""
    locked: int | None
    now: int | None
    verdict: Literal["regression", "improvement", "new", "missing"]
    """``new``: not in the lock file. ``missing``: not measured now."""


@dataclass(frozen=True)
class LockCheck(Result):
    """The result of comparing quantities with a section of the lock file."""

    section: str
    """The name of the section, such as ``jax 0.10.2, cpu``. It contains the version of JAX, the
    backend, and the settings that differ from their defaults."""
    functions: dict[str, dict[str, int]] = FrozenDict()
    """The quantities of each function that was measured."""
    changes: tuple[LockChange, ...] = ()
    """The quantities that changed by more than their margins, and all functions and quantities that
    are new or missing."""
    written: bool = False
    """Whether the lock file was written and now contains these quantities."""

    derived = ("lines",)

    @property
    def lines(self) -> str:
        """The lines to paste into the lock file: changed and new quantities, under the headings of
        their functions.

        There are no lines for functions and quantities that were not measured now. If these were
        removed on purpose, delete their lines from the lock file.
        """
        changed: dict[str, set[str]] = {}
        for change in self.changes:
            if change.verdict != "missing":
                names = {change.quantity} if change.quantity else self.functions[change.function]
                changed.setdefault(change.function, set()).update(names)
        blocks = []
        for function, names in sorted(changed.items()):
            new = {name: self.functions[function][name] for name in names}
            blocks.append("\n".join(lock_lines(self.section, function, new)))
        return "\n\n".join(blocks)


def lock_lines(section: str, function: str, quantities: Quantities) -> Iterator[str]:
    """Yield the lines of a function in the lock file, with the quantities sorted by name."""
    yield f"[{_quoted(section)}.{_quoted(function)}]"
    for name, value in sorted(quantities.items()):
        yield f"{name} = {value}"


def _quoted(text: str) -> str:
    # A JSON string is also a TOML string, except that TOML needs DEL to be escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
