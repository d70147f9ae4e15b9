"""Compare the quantities of tests marked ``jaxmeter_lock`` with the lock file, or write them.

An entry of the lock file is named after the test and the function, such as
``tests/test_step.py::test_step step``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

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


@dataclasses.dataclass
class LockedTests:
    """A test run that compares measured quantities with the lock file, or writes them to the
    file."""

    root: Path
    is_writing: bool
    """Whether to write the quantities instead of comparing them."""
    missing_section: str = ""
    """The name of the section that the last test needs but the lock file lacks; otherwise empty."""

    def take(self, test: str, measured: Sequence[Metered]) -> str | None:
        """Compare the quantities of a test with the lock file, or write them to the file.

        ``measured`` contains the functions that the test measured. Return the differences as a
        string; None if nothing differs or nothing was compared.

        Raises
        ------
        JaxmeterError
            If the test measured nothing, if a quantity cannot be measured, or if the lock file or
            pyproject.toml cannot be used.
        Exception
            Any exception that a measured function raises.
        """
        if not measured:
            raise JaxmeterError(
                f"jaxmeter_lock: got {test}, which measured no function; call jaxmeter(fn, ...) in "
                "this test"
            )
        name_now, self.missing_section = section_name(), ""
        now = {}
        for metered in measured:
            name = f"{test} {metered.name}"
            count = sum(other == name or other.startswith(f"{name} (") for other in now)
            now[f"{name} ({count + 1})" if count else name] = metered.locked()
        file = self.root / LOCK_FILE
        sections = read_lock(file)
        section = sections.get(name_now, {})
        locked = {name: section[name] for name in section if name.startswith(f"{test} ")}
        if self.is_writing:
            kept = {name: section[name] for name in section if name not in locked}
            write_lock(file, name_now, kept | now)
            return None
        if name_now not in sections:
            self.missing_section = name_now
            return None
        found = check(name_now, locked, now, read_settings(self.root / "pyproject.toml")[1])
        return f"jaxmeter: {LOCK_FILE}: {table(found)}" if found.changes else None


def summary(missing: Sequence[str]) -> str:
    """Return a line about the tests that were not compared because the lock file lacks a section.

    ``missing`` contains the missing section of each of these tests.
    """
    names = ", ".join(map(repr, dict.fromkeys(missing)))
    return (
        f"jaxmeter: {LOCK_FILE} has no section {names}; tests not compared: {len(missing)}; write "
        "the section with pytest --jaxmeter-lock"
    )
