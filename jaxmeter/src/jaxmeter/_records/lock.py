"""The comparison of locked quantities with those measured now."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from jaxmeter._records.plain_data import FrozenDict, Result

Quantities = Mapping[str, int]
"""The exact quantities of a function by name."""


@dataclass(frozen=True)
class LockChange:
    """A quantity that is not as it was locked, or a function or quantity on one side only."""

    function: str
    quantity: str
    """Empty for a whole function."""
    locked: int | None
    now: int | None
    verdict: Literal["regression", "improvement", "new", "missing"]
    """``new`` is not in the lock file, ``missing`` was not measured now."""


@dataclass(frozen=True)
class LockCheck(Result):
    """What differs from a section of the lock file."""

    section: str
    """The version of JAX, the backend and the settings, as ``jax 0.10.2, cpu``."""
    functions: dict[str, dict[str, int]] = FrozenDict()
    """The quantities of each function that was measured."""
    changes: tuple[LockChange, ...] = ()
    """Empty if all quantities are within their margins."""
    written: bool = False
    """Whether the lock file was written, and holds the quantities as they are now."""

    derived = ("lines",)

    @property
    def lines(self) -> str:
        """The lines to paste into the lock file: what changed, under the heading of its function.

        Lines of what is missing are to be deleted there.
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
    """Yield the lines of a function in the lock file, its quantities sorted by name."""
    yield f"[{_quoted(section)}.{_quoted(function)}]"
    for name, value in sorted(quantities.items()):
        yield f"{name} = {value}"


def _quoted(text: str) -> str:
    # A string of JSON is one of TOML, which has DEL escaped too.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
