"""Tests whose quantities are compared with the lock file: the mark ``jaxmeter_lock``.

An entry is named by the test and the function, ``tests/test_step.py::test_step step``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jaxmeter._lock.file import (
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
    """What the tests of a run have to do with the lock file of their root."""

    root: Path
    is_writing: bool
    """Whether to write the quantities in place of comparing them."""
    missing_section: str = ""
    """The section that the file lacks, so that the last test was not compared."""

    def take(self, test: str, measured: Sequence[Metered]) -> str | None:
        """Compare the functions that a test has measured, or write them; return what is wrong.

        Raises
        ------
        JaxmeterError
            If the test measured nothing, or the files cannot be used.
        """
        if not measured:
            raise JaxmeterError(
                f"jaxmeter_lock: got no function that {test} measured; call jaxmeter(fn, ...) in it"
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
        locked = {name: one for name, one in section.items() if name.startswith(f"{test} ")}
        if self.is_writing:
            kept = {name: one for name, one in section.items() if name not in locked}
            write_lock(file, name_now, kept | now)
            return None
        if name_now not in sections:
            self.missing_section = name_now
            return None
        found = check(name_now, locked, now, read_settings(self.root / "pyproject.toml")[1])
        return f"jaxmeter: {LOCK_FILE}: {table(found)}" if found.changes else None


def summary(missing: Sequence[str]) -> str:
    """Return a line about tests that were not compared, from the section that each would need."""
    names = ", ".join(map(repr, dict.fromkeys(missing)))
    return (
        f"jaxmeter: {LOCK_FILE} has no section {names}, {len(missing)} not compared; write one "
        "with pytest --jaxmeter-lock"
    )
