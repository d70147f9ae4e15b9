"""Ways in which a program can reach its data: each returns another function and arguments.

All compute the same. They differ in which arrays are arguments, and so in whether the compiler gets
their shapes or their bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax

import jaxmeter


class Program(NamedTuple):
    """A function to jit and its arguments; the first argument is the data."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]


@partial(jax.tree_util.register_dataclass, data_fields=(), meta_fields=("function",))
@dataclass(frozen=True)
class Hidden:
    """A callable that a pytree carries as metadata: passed along, yet no argument."""

    function: Callable[..., Any]

    def __call__(self, *arguments: Any) -> Any:
        """Return what the hidden callable returns."""
        return self.function(*arguments)


def closure(program: Program) -> Program:
    """Close over the data."""
    function, (data, *arguments) = program
    return Program(lambda *arguments: function(data, *arguments), tuple(arguments))


def hoisted(program: Program) -> Program:
    """Close over the data, and let jaxmeter make its arrays arguments."""
    function, arguments = closure(program)
    function, constants = jaxmeter.hoist(function, *arguments)
    return Program(function, (constants, *arguments))


def check_variant(call: str, variant: str, known: Iterable[str]) -> None:
    """Refuse a variant that is unknown or needs another setting of simplified constants.

    Raises
    ------
    ValueError
        For an unknown variant, for "simplified" in a process without simplified constants, and for
        another variant in a process with them.
    """
    if variant not in known:
        raise ValueError(f"{call} got variant={variant!r}; give one of {', '.join(known)}")
    simplified = bool(getattr(jax.config, "jax_use_simplified_jaxpr_constants", False))
    if (variant == "simplified") != simplified:
        raise ValueError(
            f"{call} got variant={variant!r} in a process where simplified constants are "
            f"{'on' if simplified else 'off'}; set JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS in the "
            "case's env, which is read when JAX is imported"
        )
