"""Define the quantities that a test can limit, and the advice to show if a limit is exceeded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Described(NamedTuple):
    """The section that contains a quantity, and advice if the quantity is too large."""

    section: str
    """A section of a record; ``audit`` for a quantity of the audit; empty for a count of events."""
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
"""The quantities by name. A quantity with a section is a field of that section. All quantities are
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
