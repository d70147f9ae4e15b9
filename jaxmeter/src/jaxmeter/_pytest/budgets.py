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
"""The most that each quantity may be; None lifts a limit that holds elsewhere."""


def read_budgets(file: Path) -> dict[str, Budget]:
    """The budgets in a pyproject.toml, by the pattern of the tests they are for.

    The limits of the table itself are for all tests, pattern ``*``; a sub-table is for the tests
    whose identifier (``tests/test_step.py::test_step``) matches its name, as file names do.

    Raises
    ------
    JaxmeterError
        If the file is no TOML or a limit is not one.
    """
    if not file.is_file():
        return {}
    try:
        data = tomllib.loads(file.read_text())
    except tomllib.TOMLDecodeError as error:
        raise JaxmeterError(f"{file}: got no TOML ({error}); correct it") from None
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
    """The limits, sure to be numbers for quantities that there are.

    Raises
    ------
    JaxmeterError
        If one is not.
    """
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
    """The limits for a test: a later pattern that matches goes before an earlier one."""
    budget: Budget = {}
    for pattern, limits in budgets.items():
        if fnmatch.fnmatchcase(test, pattern):
            budget |= limits
    return budget
