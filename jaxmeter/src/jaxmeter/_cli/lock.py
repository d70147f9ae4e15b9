"""Write the exact quantities of functions to jaxmeter.lock.toml, or compare them with the file.
The quantities are traces, compiles, captured and embedded bytes, equations, instructions, fusions
and temporaries. Each function is compiled, and called three times. The file has a section for each
combination of JAX version, backend and settings that change programs.

exit codes: 0 the file was written, or nothing differs; 1 a regression, an improvement that is not
in the file yet, or a function or quantity that is missing from the file or from the measurement;
2 bad usage, or no section for the current version, backend and settings; 3 a function could not be
imported, compiled or run
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
from collections.abc import Mapping
from pathlib import Path

from jaxmeter._cli.arguments import case_from_options, with_arrays
from jaxmeter._cli.command import doing
from jaxmeter._measure.case import Case
from jaxmeter._records.comparison import Side
from jaxmeter._records.lock import (
    LOCK_FILE,
    LockCheck,
    Section,
    check,
    read_lock,
    read_settings,
    section_name,
    section_of,
    write_lock,
)
from jaxmeter.errors import JaxmeterError


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "targets",
        nargs="*",
        metavar="target",
        help="package.module:function or file.py:function. The arguments come from the module, as "
        "for jaxmeter audit. Without targets, use the functions that [tool.jaxmeter.lock] of "
        "pyproject.toml lists. Without such a list, use all functions of the lock file",
    )
    parser.add_argument(
        "--check", action="store_true", help="compare with the file, and write nothing"
    )


def run(options: argparse.Namespace) -> tuple[LockCheck, bool]:
    listed, margins = read_settings(Path("pyproject.toml"))
    file = Path(LOCK_FILE)
    named = options.targets or listed
    targets = named or _functions(read_lock(file))
    if not targets:
        raise JaxmeterError(
            f"lock: got no functions, and {file} has none; give package.module:function, or list "
            "functions = [...] under [tool.jaxmeter.lock] in pyproject.toml"
        )
    # Make the cases first: the module of a target may set options of JAX that change the name of
    # the section. Restore the current folder afterwards, because the module may change it.
    with contextlib.chdir("."):
        cases = {target: _case(target, is_locked=not named) for target in targets}
    name = section_name()
    section = section_of(file, name) if options.check else read_lock(file).get(name, {})
    now = {target: _quantities(target, case) for target, case in cases.items()}
    # Keep the entries of tests, because only pytest measures tests. If the command line names
    # functions, also keep the entries of the functions that are not named.
    kept = {
        function: quantities
        for function, quantities in section.items()
        if _is_test(function) or (options.targets and function not in now)
    }
    locked = {function: section[function] for function in section if function not in kept}
    found = check(name, locked, now, margins)
    if options.check:
        return found, not found.changes
    write_lock(file, name, kept | now)
    return dataclasses.replace(found, written=True), True


def _functions(sections: Mapping[str, Section]) -> list[str]:
    """Return the names of the functions in all sections, without tests."""
    found = dict.fromkeys(name for section in sections.values() for name in section)
    return [name for name in found if not _is_test(name)]


def _is_test(name: str) -> bool:
    return "::" in name


def _case(target: str, *, is_locked: bool) -> Case:
    with doing(f"preparing {target}"):
        try:
            case = case_from_options("lock", target, Side(target))
        except JaxmeterError as error:
            if not is_locked:
                raise
            raise JaxmeterError(
                f"{error}; if the function was removed, delete its lines in {LOCK_FILE}"
            ) from None
        return with_arrays(case)


def _quantities(target: str, case: Case) -> dict[str, int]:
    # Imported here, so that the target's module is imported before JAX.
    import jax

    from jaxmeter._pytest.metered import Metered

    jax.clear_caches()  # so that no function reuses another function's traces
    with doing(f"measuring {target}"):
        return Metered(case).locked()
