"""Add the pytest fixture ``jaxmeter``, which measures functions.

The plugin compares the measured quantities with budgets and with the lock file. The plugin imports
JAX when the fixture first measures a function, and not when pytest starts.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

import pytest

from jaxmeter._measure.case import Case, case_of
from jaxmeter._pytest.quantities import (
    Budget,
    Limit,
    Quantity,
    budget_for,
    checked_budget,
    read_budgets,
)
from jaxmeter._records.lock import (
    LOCK_FILE,
    check,
    read_lock,
    read_settings,
    section_name,
    write_lock,
)
from jaxmeter._render.terminal import table
from jaxmeter.errors import JaxmeterError

if TYPE_CHECKING:
    from jaxmeter._pytest.metered import Metered

_MARK = "jaxmeter_budget"
_LOCK_MARK = "jaxmeter_lock"
_LOCK_OPTION = "--jaxmeter-lock"
_BUDGETS = pytest.StashKey[dict[str, Budget]]()
_MEASURED = pytest.StashKey["list[Metered]"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option ``--jaxmeter-lock``, which writes the lock file."""
    parser.getgroup("jaxmeter").addoption(
        _LOCK_OPTION,
        action="store_true",
        help=f"write the quantities of tests with the mark {_LOCK_MARK} to {LOCK_FILE}",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marks, and read the budgets from pyproject.toml in pytest's root folder."""
    config.addinivalue_line(
        "markers",
        f"{_LOCK_MARK}: compare the quantities that the jaxmeter fixture measures in this test "
        f"with {LOCK_FILE}",
    )
    if config.getoption(_LOCK_OPTION) and getattr(config.option, "numprocesses", None):
        raise pytest.UsageError(
            f"{_LOCK_OPTION}: got -n as well; run pytest without -n, because a single process "
            "must write the lock file"
        )
    config.addinivalue_line(
        "markers",
        f"{_MARK}(captured_bytes=1_000_000, traces=1, ...): limits for the quantities that the "
        "jaxmeter fixture measures in this test; None removes a limit",
    )
    try:
        config.stash[_BUDGETS] = read_budgets(config.rootpath / "pyproject.toml")
    except JaxmeterError as error:
        raise pytest.UsageError(str(error)) from None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Run a test. If the test passes and has the mark ``jaxmeter_lock``, compare its quantities
    with the lock file, or write them to this file if ``--jaxmeter-lock`` is given."""
    result = yield
    if item.get_closest_marker(_LOCK_MARK) is not None:
        try:
            message = _compare_or_write(item)
        except JaxmeterError as error:
            message = str(error)
        if message:
            pytest.fail(message, pytrace=False)
    return result


def _compare_or_write(item: pytest.Item) -> str:
    """Compare the quantities of a test with the lock file, or write them to this file.

    Return a message if quantities differ or the test measured no function; otherwise return an
    empty string. Nothing is compared if the lock file has no section for the version, backend and
    options of JAX in this process.

    An entry of the lock file is named after the test and the function, such as
    ``tests/test_step.py::test_step step``.
    """
    test, root = item.nodeid, item.config.rootpath
    measured = item.stash.get(_MEASURED, [])
    if not measured:
        return (
            f"jaxmeter_lock: got {test}, which measured no function; call jaxmeter(fn, ...) in "
            "this test"
        )
    section, now = section_name(), {}
    for metered in measured:
        name = f"{test} {metered.name}"
        count = sum(other == name or other.startswith(f"{name} (") for other in now)
        now[f"{name} ({count + 1})" if count else name] = metered.locked()
    file = root / LOCK_FILE
    sections = read_lock(file)
    entries = sections.get(section, {})
    locked = {name: entries[name] for name in entries if name.startswith(f"{test} ")}
    if item.config.getoption(_LOCK_OPTION):
        kept = {name: entries[name] for name in entries if name not in locked}
        write_lock(file, section, kept | now)
        return ""
    if section not in sections:
        # Record the missing section in the test report, because a worker of pytest-xdist sends
        # this report to the main process.
        item.user_properties.append((_LOCK_MARK, section))
        return ""
    found = check(section, locked, now, read_settings(root / "pyproject.toml")[1])
    return f"jaxmeter: {LOCK_FILE}: {table(found)}" if found.changes else ""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print which sections the lock file lacks, and how many tests were therefore not compared."""
    properties = (
        found
        for report in terminalreporter.getreports("passed")
        for found in report.user_properties
    )
    missing = [str(section) for name, section in properties if name == _LOCK_MARK]
    if missing:
        names = ", ".join(map(repr, dict.fromkeys(missing)))
        terminalreporter.write_line(
            f"jaxmeter: {LOCK_FILE} has no section {names}; tests not compared: {len(missing)}; "
            "write the section with pytest --jaxmeter-lock"
        )


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Explain a failed comparison of a measured quantity."""
    quantity = next((side for side in (left, right) if isinstance(side, Quantity)), None)
    if quantity is None:
        return None
    return [
        f"{left!r} {op} {right!r}",
        f"jaxmeter: {quantity.name} of {quantity.function} is {int(quantity):,}",
        *quantity.explain().splitlines(),
    ]


@pytest.fixture
def jaxmeter(request: pytest.FixtureRequest) -> Callable[..., Metered]:
    """Measure functions: ``jaxmeter(step, x)`` returns an object with the quantities of ``step``.

    Examples of quantities are ``jaxmeter(step, x).captured_bytes``, ``.traces`` and
    ``.temp_bytes``.

    The test fails if a quantity exceeds its budget. Budgets are set in ``[tool.jaxmeter.budgets]``
    of pyproject.toml or by the mark ``jaxmeter_budget``.
    """
    budget = budget_for(request.node.nodeid, request.config.stash[_BUDGETS])
    # The mark of the test itself comes last, so it overrides the marks of the class and the module.
    for mark in reversed(list(request.node.iter_markers(_MARK))):
        if mark.args:
            got = f"@pytest.mark.{_MARK}: got {mark.args[0]!r:.80}"
            raise JaxmeterError(f"{got}; give each limit by keyword, such as traces=1")
        budget |= checked_budget(f"@pytest.mark.{_MARK}", mark.kwargs, Limit | None)

    measured: list[Metered] = []
    request.node.stash[_MEASURED] = measured  # a new list for each run of the test

    def meter(fn: Case | Callable[..., Any], *args: Any, **kwargs: Any) -> Metered:
        from jaxmeter._pytest.metered import Metered

        case = case_of("jaxmeter", fn, args, kwargs)
        counted = {name: budget.get(name) for name in ("traces", "compiles")}
        metered = Metered(case, after_call=lambda metered: _check(metered, counted))
        measured.append(metered)
        _check(metered, budget)
        return metered

    return meter


def _check(metered: Metered, budget: Budget) -> None:
    exceeded = []
    for name, limit in budget.items():
        if limit is None:
            continue
        try:
            quantity = metered.quantity(name)
        except JaxmeterError as error:
            pytest.fail(str(error), pytrace=False)
        if quantity > limit:
            exceeded.append(
                f"jaxmeter: {name} of {metered.name} is {quantity:,}, above its budget of {limit:,}"
            )
            exceeded += [f"  {line}" for line in quantity.explain().splitlines()]
    if exceeded:
        pytest.fail("\n".join(exceeded), pytrace=False)
