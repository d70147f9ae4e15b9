"""Read and write the lock file, and compare its quantities with quantities measured now.

The lock file is a TOML file. Each function in each section has a table, such as
``["jax 0.10.2, cpu"."model:step"]``. Each quantity has a line. Tables and lines are sorted, so that
a change gives a small diff.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from jaxmeter._records.files import read_toml, tool_table, write_file
from jaxmeter._records.plain_data import FrozenDict, Result, checked
from jaxmeter.errors import JaxmeterError

LOCK_FILE = "jaxmeter.lock.toml"
"""The name of the lock file, which is in the folder of pyproject.toml."""
LOCKED = (
    "traces",
    "compiles",
    "captured_bytes",
    "embedded_bytes",
    "jaxpr_equations_count",
    "hlo_instructions_count",
    "fusions_count",
    "temp_bytes",
)
"""The quantities of the lock file. On one machine, each quantity is equal in all runs with the same
version, backend and options of JAX."""
Quantities = Mapping[str, int]
"""The exact quantities of a function, by name."""
Section = dict[str, dict[str, int]]
_Quantity = Annotated[int, Meta(ge=0)]
_HEADING = "# Exact quantities of functions and tests, written by jaxmeter lock."
SETTINGS = {
    "jax_enable_x64": False,
    "jax_disable_jit": False,
    "jax_default_matmul_precision": None,
    "jax_default_prng_impl": "threefry2x32",
    "jax_threefry_partitionable": True,
    "jax_use_simplified_jaxpr_constants": False,
    "jax_debug_nans": False,
}
"""Options of JAX that change a program, with their defaults. The name of a section of the lock file
contains the values that differ from these defaults."""


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
    """The name of the section, such as ``jax 0.10.2, cpu``. The name contains the version of JAX,
    the backend, and the settings that differ from their defaults."""
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


def section_name() -> str:
    """Return the name of the section for this process: the version and backend of JAX, the options
    of `SETTINGS` that differ from their defaults, and XLA_FLAGS if they are set."""
    import jax

    options = {name: getattr(jax.config, name, default) for name, default in SETTINGS.items()}
    named = [f"{name}={value}" for name, value in options.items() if value != SETTINGS[name]]
    if flags := " ".join(os.environ.get("XLA_FLAGS", "").split()):
        named.append(f"XLA_FLAGS={flags}")
    return ", ".join((f"jax {jax.__version__}", jax.default_backend(), *named))


def read_lock(file: Path) -> dict[str, Section]:
    """Return the sections of a lock file by name, or {} if there is no file."""
    found: dict[str, Section] = {}
    for name, functions in read_toml(file).items():
        if not isinstance(functions, dict) or not all(
            isinstance(quantities, dict) for quantities in functions.values()
        ):
            raise JaxmeterError(
                f"{file}: got {name}={functions!r:.80}; give lines such as traces = 1 under a "
                'heading ["jax 0.10.2, cpu"."module:function"], as jaxmeter lock writes them'
            )
        found[name] = {
            function: {
                key: checked(f"{file}: {name}: {function}", key, value, _Quantity)
                for key, value in quantities.items()
            }
            for function, quantities in functions.items()
        }
    return found


def section_of(file: Path, name: str) -> Section:
    """Return the section ``name`` of a lock file, for ``jaxmeter lock --check``."""
    sections = read_lock(file)
    if name not in sections:
        there = "has no sections" if file.exists() else "does not exist"
        other = ""
        if sections:
            there = f"has only the sections {', '.join(map(repr, sorted(sections)))}"
            other = ", or run JAX with the version, backend and settings of one of these sections"
        raise JaxmeterError(
            f"lock: needs the section {name!r} (version, backend and settings of JAX), but "
            f"{file.name} {there}; run jaxmeter lock without --check to write the section{other}"
        )
    return sections[name]


def write_lock(file: Path, name: str, section: Section) -> None:
    """Write a section of a lock file and keep the other sections."""
    sections = read_lock(file) | {name: section}
    blocks = [_HEADING]
    for heading, functions in sorted(sections.items()):
        for function, quantities in sorted(functions.items()):
            blocks.append("\n".join(lock_lines(heading, function, quantities)))
    write_file(file, "\n\n".join(blocks) + "\n")


def read_settings(pyproject: Path) -> tuple[tuple[str, ...], dict[str, float]]:
    """Return the functions and the margins that ``[tool.jaxmeter.lock]`` lists."""
    where, table = tool_table(pyproject, "lock")
    for name in table:
        if name not in ("functions", "margins"):
            raise JaxmeterError(
                f"{where}: got the key {name!r}; give only the keys functions and margins"
            )
    functions = checked(where, "functions", table.get("functions", []), tuple[str, ...])
    margins = table.get("margins", {})
    margins = checked(where, "margins", margins, dict[str, Annotated[float, Meta(ge=0)]])
    for name in margins:
        if name not in LOCKED:
            raise JaxmeterError(
                f"{where}: got a margin for {name!r}; give margins only for {', '.join(LOCKED)}"
            )
    return functions, margins


def check(
    section: str,
    locked: Mapping[str, Quantities],
    now: Mapping[str, Quantities],
    margins: Mapping[str, float],
) -> LockCheck:
    """Compare measured quantities (``now``) with the quantities in the lock file (``locked``).

    ``margins`` maps names of quantities to the largest relative differences that count as
    unchanged. A quantity without a margin must be equal.
    """
    changes = []
    for function in sorted(locked.keys() | now.keys()):
        if function not in now:
            changes.append(LockChange(function, "", None, None, "missing"))
        elif function not in locked:
            changes.append(LockChange(function, "", None, None, "new"))
        else:
            changes += _changes(function, locked[function], now[function], margins)
    return LockCheck(section, {name: dict(one) for name, one in now.items()}, tuple(changes))


def _changes(
    function: str, locked: Quantities, now: Quantities, margins: Mapping[str, float]
) -> Iterator[LockChange]:
    for quantity in sorted(locked.keys() | now.keys()):
        before, after = locked.get(quantity), now.get(quantity)
        if before is None or after is None:
            verdict = "new" if before is None else "missing"
        elif abs(after - before) <= margins.get(quantity, 0.0) * before:
            continue
        else:
            verdict = "regression" if after > before else "improvement"
        yield LockChange(function, quantity, before, after, verdict)
