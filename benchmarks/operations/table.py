"""The table of operations, with the public names that each operation measures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from jaxmeter import Case

SUITE = "operations"
"""Name of the suite; the name of an operation's case is ``operations/<name>``."""
Check = Callable[..., Mapping[str, float]]


@dataclass(frozen=True)
class Program:
    """A function that is compiled as a single program, with its arguments and a check.

    ``check(answer, run)`` returns named numbers. `run` is the compiled function, which the check
    may call with other arguments of the same shapes.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    check: Check


@dataclass(frozen=True)
class Calls:
    """A sequence of calls of public functions; the calls may compile many programs.

    ``check(answer)`` returns named numbers.
    """

    run: Callable[[], Any]
    check: Check


@dataclass(frozen=True)
class Operation:
    """An operation in the table; its records belong to the case ``operations/<name>``."""

    name: str
    covers: tuple[str, ...]
    """Public names that the operation measures, such as ``vcjax.external_field``."""
    make: Callable[[], Program | Calls]
    """Function that returns a `Program` or a `Calls`; called when the operation is measured."""

    @property
    def target(self) -> str:
        """The name ``module:function`` of the operation, for records and for ``jaxmeter lock``."""
        return f"{self.make.__module__}:{self.name}"


OPERATIONS: dict[str, Operation] = {}
"""All operations by name, in the order in which they are measured."""


def operation(*covers: str) -> Callable[[Callable[[], Program | Calls]], Callable[[], Case]]:
    """Return a decorator that adds an operation to the table.

    `covers` are the public names that the operation measures. The decorator replaces the function
    with a function that returns a `jaxmeter.Case`. Commands of jaxmeter can then use the operation
    by its name ``module:function``.
    """

    def entered(make: Callable[[], Program | Calls]) -> Callable[[], Case]:
        name = make.__name__
        assert name not in OPERATIONS, name
        OPERATIONS[name] = Operation(name, covers, make)

        def case() -> Case:
            made = make()
            if isinstance(made, Calls):
                return Case(made.run)
            return Case(made.function, made.arguments)

        return case

    return entered
