"""The quantities that a test can put a limit on, and what to do where one is exceeded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Described:
    """Where a quantity is found, and what to do if it is too large."""

    section: str
    """Of a record; ``audit`` for what an audit tells, ``""`` for what calls tell."""
    field: str
    advice: str


_CAPTURED = "pass the array as an argument"
_LARGER = "see what was added to the function; compare jax.make_jaxpr of both versions"
_MEMORY = (
    "work in pieces (jax.lax.map with batch_size, jax.lax.scan), recompute in the backward pass "
    "(jax.checkpoint), or donate arguments that are not needed afterwards"
)

QUANTITIES = {
    "captured_bytes": Described("audit", "captured_bytes", _CAPTURED),
    "embedded_bytes": Described("audit", "embedded_bytes", _CAPTURED),
    "embedded_count": Described("audit", "embedded_count", _CAPTURED),
    "hidden_argument_bytes": Described("audit", "hidden_argument_bytes", _CAPTURED),
    "traces": Described(
        "",
        "",
        "each call whose arguments differ from all calls before in structure, shape, dtype, weak "
        "type or a static value traces again: pad to one shape, pass Python numbers as "
        "jnp.asarray(number, dtype), and make static only what seldom changes",
    ),
    "jaxpr_equations_count": Described("program", "jaxpr_equations_count", _LARGER),
    "hlo_instructions_count": Described("program", "hlo_instructions_count", _LARGER),
    "fusions_count": Described("program", "fusions_count", _LARGER),
    "flops": Described("program", "flops", _LARGER),
    "accessed_bytes": Described("program", "accessed_bytes", _LARGER),
    "argument_bytes": Described("memory", "argument_bytes", _MEMORY),
    "output_bytes": Described("memory", "output_bytes", _MEMORY),
    "temp_bytes": Described("memory", "temp_bytes", _MEMORY),
}
"""By name. All are exact and free of noise, which times are not."""


class Quantity(int):
    """A number that knows what it measures and what to do about it."""

    def __new__(cls, value: int, name: str, explain: Callable[[], str], function: str) -> Quantity:
        """``explain`` is called only where a comparison fails, since it may take time."""
        made = super().__new__(cls, value)
        made.name, made.explain, made.function = name, explain, function
        return made

    name: str
    explain: Callable[[], str]
    function: str

    def __reduce__(self) -> Any:
        return int, (int(self),)
