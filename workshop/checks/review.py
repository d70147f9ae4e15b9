"""Checks for the exercises of lesson 6: reviewing a regression."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import jax

import jaxmeter
from workshop.course import FOLDER, exercise, expect
from workshop.history import versions
from workshop.record import SLOWER_FROM

INVENTORIES: dict[str, jaxmeter.Inventory] = {}
"""The inventories that were made so far, by jaxpr, so that equal programs are compiled once."""


def _field(source: str) -> tuple[Callable[..., jax.Array], tuple[Any, ...]]:
    """Return the function `field` of a version, and its arguments."""
    module: dict[str, Any] = {}
    exec(source, module)
    return module["field"], module["jaxmeter_arguments"]("field")


def _inventory(function: Callable[..., jax.Array], args: tuple[Any, ...]) -> jaxmeter.Inventory:
    """Return the inventory of a function, from `INVENTORIES` if it has the same program."""
    key = str(jax.make_jaxpr(function)(*args))
    if key not in INVENTORIES:
        INVENTORIES[key] = jaxmeter.inventory(function, *args)
    return INVENTORIES[key]


@exercise(
    "6_review/1_culprits",
    "Lesson 6 prints the quantities of each commit. Commits are counted from 0.",
    "At which commit does the number grow most, relative to its size at the commit before?",
)
def culprits(module: ModuleType) -> None:
    """Check the answers: for each quantity, the commit with the largest relative growth."""
    given = {name: getattr(module, name) for name in ("CAPTURED", "EQUATIONS", "MEMORY")}
    for name, number in given.items():
        expect(isinstance(number, int), f"{name} is {number!r}; give the number of a commit")
    found = [_inventory(*_field(source)) for _, source in versions()]
    quantities = {
        "CAPTURED": [one.constants.captured_bytes or 0 for one in found],
        "EQUATIONS": [one.program.jaxpr_equations_count or 0 for one in found],
        "MEMORY": [one.memory.temp_bytes or 0 for one in found],
    }
    for name, values in quantities.items():
        growth = [(new - old) / max(old, 1) for old, new in itertools.pairwise(values)]
        wanted = growth.index(max(growth)) + 1
        expect(
            given[name] == wanted,
            f"{name} is {given[name]}, but the quantity grows by a larger factor at another "
            f"commit; the values of the quantity, from commit 0: {values}",
            hint=1,
        )


@exercise(
    "6_review/2_lock",
    "Take the corners from the arguments, not from the module.",
    "Sum all segments at once, not in four parts.",
    "Change nothing else: the locked program has the same operations in the same order.",
)
def lock(module: ModuleType) -> None:
    """Check that the program of the exercise is the same as the locked program."""
    locked, args = _field(versions()[0][1])
    diff = jaxmeter.diff(_inventory(locked, args), _inventory(module.field, args))
    changes = [f"{one.name} {one.before:g} -> {one.now:g}" for one in diff.sizes]
    changed = {one.name for one in diff.sizes}
    hint = 0 if "captured bytes" in changed else 1 if "jaxpr equations" in changed else 2
    expect(
        diff.same is True,
        "the program differs from the locked program: "
        + ("; ".join(changes) or "equal sizes, other operations"),
        hint=hint,
    )


@exercise(
    "6_review/3_verdicts",
    'The verdict is "different" if 1 is not in the interval and the effect is above 3 %. '
    'The verdict is "same" if the whole interval is within 3 % of 1.',
    "Otherwise the verdict is inconclusive: more processes could decide.",
    "STEP is the number of the commit at which the bars in lesson 6 become longer.",
)
def verdicts(module: ModuleType) -> None:
    """Check the answers: verdicts on two recorded comparisons, and the first slower commit."""
    for name in ("equal", "slower"):
        text = (FOLDER / "recorded" / f"comparison_{name}.json").read_text()
        timings = jaxmeter.Comparison.from_json(text).timings
        (steady,) = (one for one in timings if one.quantity == "steady_seconds")
        given = getattr(module, name.upper())
        expect(
            given == steady.verdict,
            f"{name.upper()} is {given!r}, which is not the verdict for an interval from "
            f"{steady.low:.2f} to {steady.high:.2f}",
        )
    message = f"STEP is {module.STEP!r}; give the first slower commit"
    expect(module.STEP == SLOWER_FROM, message, hint=2)
