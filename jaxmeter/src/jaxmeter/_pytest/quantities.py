"""Define the quantities that a test can limit, and read their limits.

Limits are in the table ``[tool.jaxmeter.budgets]`` of pyproject.toml. A limit applies to all tests,
or to the tests that match a pattern.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from msgspec import Meta

from jaxmeter._records.files import tool_table
from jaxmeter._records.plain_data import checked
from jaxmeter.errors import JaxmeterError

Limit = Annotated[int, Meta(ge=0)]
Budget = dict[str, int | None]
"""The limit of each quantity. Only a pytest mark can set a limit to None. None removes the limit
that pyproject.toml sets, or that the mark of a class or module sets."""


class Described(NamedTuple):
    """Where a quantity is found, and the advice to show if the quantity is too large."""

    section: str
    """The section of a `Record` that contains the quantity, such as ``memory``; ``audit`` for a
    quantity of an `Audit`; empty for the number of traces and of compiles."""
    advice: str


_CAPTURED = "pass the array as an argument"
_LARGER = "look for code that was added: compare jax.make_jaxpr of the old and the new function"
_MEMORY = (
    "work in pieces (jax.lax.map with batch_size, jax.lax.scan), recompute in the backward pass "
    "(jax.checkpoint), or donate arguments that are not needed afterwards"
)
_TRACES = (
    "a call is traced again if no earlier call had arguments with the same structure, shapes, "
    "dtypes, weak types and static values: pad arrays to one shape, pass Python numbers as "
    "jnp.asarray(number, dtype), and make static only arguments that rarely change"
)

QUANTITIES = {
    "captured_bytes": Described("audit", _CAPTURED),
    "embedded_bytes": Described("audit", _CAPTURED),
    "embedded_count": Described("audit", _CAPTURED),
    "hidden_argument_bytes": Described("audit", _CAPTURED),
    "traces": Described("", _TRACES),
    "compiles": Described("", _TRACES),
    "jaxpr_equations_count": Described("program", _LARGER),
    "hlo_instructions_count": Described("program", _LARGER),
    "fusions_count": Described("program", _LARGER),
    "flops": Described("program", _LARGER),
    "accessed_bytes": Described("program", _LARGER),
    "argument_bytes": Described("memory", _MEMORY),
    "output_bytes": Described("memory", _MEMORY),
    "temp_bytes": Described("memory", _MEMORY),
}
"""The quantities by name; see `Described` for the values of this dictionary. All quantities are
exact and free of noise, unlike times."""


class Quantity(int):
    """A number with its name, and an explanation to show if a test fails because of the number."""

    name: str
    explain: Callable[[], str]
    """A function that returns the explanation. It may be slow, so it is called only if an assertion
    fails or a budget is exceeded."""
    function: str

    def __new__(cls, value: int, name: str, explain: Callable[[], str], function: str) -> Quantity:
        made = super().__new__(cls, value)
        made.name, made.explain, made.function = name, explain, function
        return made

    def __reduce__(self) -> Any:
        return int, (int(self),)


def read_budgets(file: Path) -> dict[str, Budget]:
    """Return a dictionary of the budgets in a pyproject.toml, with patterns of test identifiers as
    keys.

    An identifier looks like ``tests/test_step.py::test_step``. Limits in the table
    ``[tool.jaxmeter.budgets]`` itself apply to all tests and have the pattern ``*``. The name of a
    sub-table is a glob pattern. Limits in the sub-table apply to tests with a matching identifier.
    """
    where, table = tool_table(file, "budgets")
    narrower = {name: value for name, value in table.items() if isinstance(value, Mapping)}
    general = {name: value for name, value in table.items() if name not in narrower}
    general |= narrower.pop("*", {})
    return {"*": checked_budget(where, general)} | {
        pattern: checked_budget(f"{where[:-1]}.{pattern!r}]", limits)
        for pattern, limits in narrower.items()
    }


def checked_budget(where: str, limits: Mapping[str, Any], kind: Any = Limit) -> Budget:
    """Check limits and return them as a budget. Error messages begin with the text ``where``.

    ``kind`` is the type of a limit: TOML has no None, but a pytest mark may give None.
    """
    for name, limit in limits.items():
        if name not in QUANTITIES:
            raise JaxmeterError(
                f"{where}: got a limit on the unknown quantity {name!r}; use one of "
                f"{', '.join(QUANTITIES)}"
            )
        checked(where, name, limit, kind)
    return dict(limits)


def budget_for(test: str, budgets: Mapping[str, Budget]) -> Budget:
    """Return the limits for a test. If several matching patterns limit a quantity, the limit of the
    last pattern applies."""
    budget: Budget = {}
    for pattern, limits in budgets.items():
        if test == pattern or fnmatch.fnmatchcase(test, pattern):
            budget |= limits
    return budget
