"""Limits on quantities, for all tests or for some, from ``[tool.jaxmeter.budgets]``."""

from __future__ import annotations

import fnmatch
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jaxmeter._pytest.quantities import QUANTITIES
from jaxmeter.errors import JaxmeterError

Budget = dict[str, int | None]
"""The limit of each quantity; None lifts a limit that holds elsewhere."""


def read_budgets(file: Path) -> dict[str, Budget]:
    """Return the budgets in a pyproject.toml, by the pattern of the tests that they hold for.

    The limits of the table itself hold for all tests, pattern ``*``; those of a sub-table for tests
    with an identifier (``tests/test_step.py::test_step``) that its name matches as a glob.

    Raises
    ------
    JaxmeterError
        If the file is not TOML, or a limit is not a whole number for a quantity.
    """
    if not file.is_file():
        return {}
    try:
        data = tomllib.loads(file.read_text())
    except tomllib.TOMLDecodeError as error:
        raise JaxmeterError(f"{file}: not TOML ({error}); correct it") from None
    table = data.get("tool", {}).get("jaxmeter", {}).get("budgets", {})
    where = f"{file}: [tool.jaxmeter.budgets]"
    if not isinstance(table, Mapping):
        raise JaxmeterError(f"{where}: got {table!r}; make it a table")
    general = {name: value for name, value in table.items() if not isinstance(value, Mapping)}
    budgets = {"*": checked_budget(where, general)}
    for pattern, limits in table.items():
        if isinstance(limits, Mapping):
            budgets[pattern] = checked_budget(f"{where[:-1]}.{pattern!r}]", limits)
    return budgets


def checked_budget(where: str, limits: Mapping[str, Any]) -> Budget:
    """Return the limits after checking them; an error names where they stand."""
    for name, limit in limits.items():
        if name not in QUANTITIES:
            raise JaxmeterError(
                f"{where}: got a limit on {name!r}; there are {', '.join(QUANTITIES)}"
            )
        whole = isinstance(limit, int) and not isinstance(limit, bool) and limit >= 0
        if limit is not None and not whole:
            raise JaxmeterError(f"{where}: got {name} = {limit!r}; give a whole number, 0 or more")
    return dict(limits)


def budget_for(test: str, budgets: Mapping[str, Budget]) -> Budget:
    """Return the limits for a test: a later pattern that matches overrides an earlier one."""
    budget: Budget = {}
    for pattern, limits in budgets.items():
        if fnmatch.fnmatchcase(test, pattern):
            budget |= limits
    return budget
