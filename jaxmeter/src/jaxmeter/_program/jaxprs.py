"""Walking jaxprs: into every sub-jaxpr that an equation holds, whatever the primitive."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def inner(jaxpr: Any) -> Any:
    """The open jaxpr in a closed one; an open one is its own. From JAX 0.12 on both are one."""
    return getattr(jaxpr, "jaxpr", jaxpr)


def sub_jaxprs(equation: Any) -> Iterator[Any]:
    """Every jaxpr, closed or open, in the parameters of an equation: jit, scan, cond, while,
    custom_jvp and custom_vjp, remat, shard_map and those yet to come."""
    for parameter in equation.params.values():
        yield from _jaxprs_in(parameter)


def _jaxprs_in(parameter: Any) -> Iterator[Any]:
    if hasattr(inner(parameter), "eqns"):
        yield parameter
    elif isinstance(parameter, (tuple, list)):
        for item in parameter:
            yield from _jaxprs_in(item)
    elif isinstance(parameter, Mapping):
        for item in parameter.values():
            yield from _jaxprs_in(item)


def label(equation: Any) -> str:
    """A name for an equation's sub-jaxprs: ``scan``, ``jit(step)``."""
    name = equation.params.get("name")
    primitive = equation.primitive.name
    return f"{primitive}({name})" if isinstance(name, str) else primitive


def scan_counts(params: Mapping[str, Any]) -> tuple[int, int]:
    """How many of a scan's operands are the same in every step, and how many are carried.

    All further ones are scanned over.
    """
    if "num_consts" in params:
        return params["num_consts"], params["num_carry"]
    consts, carries, _ = params["ft_in"].unpack()  # JAX 0.12
    return len(consts), len(carries)


def equations_count(jaxpr: Any) -> int:
    """Equations in a jaxpr and all its sub-jaxprs.

    The equation that holds a sub-jaxpr counts as one, and the sub-jaxpr as often as it is held.
    """
    return _equations_count(jaxpr, {})


def _equations_count(jaxpr: Any, known: dict[int, int]) -> int:
    # A jaxpr that is shared many times over, level upon level, is walked once.
    if id(jaxpr) not in known:
        known[id(jaxpr)] = sum(
            1 + sum(_equations_count(sub, known) for sub in sub_jaxprs(equation))
            for equation in inner(jaxpr).eqns
        )
    return known[id(jaxpr)]
