"""Read the limits on quantities from the table ``[tool.jaxmeter.budgets]`` of pyproject.toml.

A limit applies to all tests, or to the tests that match a pattern.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from jaxmeter._pytest.quantities import QUANTITIES
from jaxmeter._records.files import tool_table
from jaxmeter._records.plain_data import checked
from jaxmeter.errors import JaxmeterError

Limit = Annotated[int, Meta(ge=0)]
Budget = dict[str, int | None]
"""The limit of each quantity. Only marks can contain None, which removes an earlier limit."""


def read_budgets(file: Path) -> dict[str, Budget]:
    """Return a dictionary from patterns of test identifiers to the budgets in a pyproject.toml.

    An identifier looks like ``tests/test_step.py::test_step``. Limits in the table itself apply to
    all tests and have the pattern ``*``. The name of a sub-table is a glob pattern. Limits in the
    sub-table apply to tests with a matching identifier.
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
    """Check limits and return them as a budget.

    ``where`` names the place of the limits. Error messages begin with this name. ``kind`` is the
    type of a limit: TOML has no None, but the arguments of a mark may be None.
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
