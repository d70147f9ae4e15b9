"""Variants of a program that get the same data in different ways.

`closure` and `hoisted` take a case and return a new case that computes the same result. In the new
case, other arrays are arguments. The compiler gets only the shape and type of an argument. The
compiler gets all bytes of a captured array, unless JAX's simplified constants are on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax

import jaxmeter
from jaxmeter import Case


@partial(jax.tree_util.register_dataclass, data_fields=(), meta_fields=("function",))
@dataclass(frozen=True)
class Hidden:
    """A callable that a pytree carries as metadata.

    JAX treats the callable as static, so arrays that the callable captures are not arguments.
    """

    function: Callable[..., Any]

    def __call__(self, *arguments: Any) -> Any:
        """Call the hidden callable, and return its result."""
        return self.function(*arguments)


def closure(case: Case) -> Case:
    """Return a case with a function that closes over the first argument of `case`."""
    data, *arguments = case.args
    return Case(lambda *arguments: case.fn(data, *arguments), tuple(arguments))


def hoisted(case: Case) -> Case:
    """Return the case of `closure`, with the captured arrays (not scalars) as first argument."""
    closed = closure(case)
    function, constants = jaxmeter.hoist(closed.fn, *closed.args)
    return Case(function, (constants, *closed.args))


def check_variant(call: str, variant: str, known: Iterable[str]) -> None:
    """Raise a ValueError if a variant is unknown or cannot be measured in this process.

    The error names the function `call`. The variant "simplified" needs a process with
    JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS=1. All other variants need a process without this setting.
    """
    if variant not in known:
        raise ValueError(f"{call} got variant={variant!r}; give one of {', '.join(known)}")
    simplified = bool(getattr(jax.config, "jax_use_simplified_jaxpr_constants", False))
    if (variant == "simplified") != simplified:
        raise ValueError(
            f"{call} got variant={variant!r} in a process where simplified constants are "
            f"{'on' if simplified else 'off'}; set JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS="
            f"{int(not simplified)} in the case's env, because JAX reads the variable only when "
            "JAX is imported"
        )
