"""Walk through a jaxpr and all its sub-jaxprs: the jaxprs in the parameters of its equations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def inner(jaxpr: Any) -> Any:
    """Return the open jaxpr inside a closed jaxpr; return an open jaxpr as it is. From JAX 0.12 on,
    closed and open jaxprs have the same type."""
    return getattr(jaxpr, "jaxpr", jaxpr)


def sub_jaxprs(equation: Any) -> Iterator[Any]:
    """Yield every jaxpr, closed or open, in the parameters of an equation. For example, equations
    of jit, scan, cond, while, custom_jvp, remat and shard_map contain jaxprs."""
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


def every_equation(jaxpr: Any, seen: set[int] | None = None) -> Iterator[Any]:
    """Yield the equations of a jaxpr and its sub-jaxprs. A sub-jaxpr that several equations share
    is visited at each use. But if ``seen`` is given, each jaxpr is visited only once. A jaxpr with
    an id in ``seen`` is skipped, and the ids of visited jaxprs are added to ``seen``."""
    body = inner(jaxpr)
    if seen is not None:
        if id(body) in seen:
            return
        seen.add(id(body))
    for equation in body.eqns:
        yield equation
        for sub in sub_jaxprs(equation):
            yield from every_equation(sub, seen)


def label(equation: Any) -> str:
    """Return a name for the sub-jaxprs of an equation, such as ``scan`` or ``jit(step)``."""
    name = equation.params.get("name")
    primitive = equation.primitive.name
    return f"{primitive}({name})" if isinstance(name, str) else primitive


def scan_counts(params: Mapping[str, Any]) -> tuple[int, int]:
    """Return how many operands of a scan are constants, and how many are carried. The scan iterates
    over the remaining operands."""
    if "num_consts" in params:
        return params["num_consts"], params["num_carry"]
    consts, carries, _ = params["ft_in"].unpack()  # JAX 0.12
    return len(consts), len(carries)


def equations_count(jaxpr: Any) -> int:
    """Count the equations in a jaxpr and its sub-jaxprs. The equations of a sub-jaxpr are counted
    at each use, in addition to the equation that contains the sub-jaxpr."""
    known: dict[int, int] = {}  # by id, so that a shared jaxpr is walked once

    def count(jaxpr: Any) -> int:
        if id(jaxpr) not in known:
            known[id(jaxpr)] = sum(
                1 + sum(map(count, sub_jaxprs(equation))) for equation in inner(jaxpr).eqns
            )
        return known[id(jaxpr)]

    return count(jaxpr)
