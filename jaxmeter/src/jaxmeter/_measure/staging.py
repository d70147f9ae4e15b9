"""Jit, trace and lower a case, without compiling or running it.

If JAX cannot trace a leaf of the arguments, the leaf is held fixed.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection, Mapping
from typing import Any

import jax

from jaxmeter._measure.case import Call, Case, name_of
from jaxmeter._measure.counts import ExecutionCounter
from jaxmeter._measure.failures import raise_from_call
from jaxmeter._measure.jits import KnownJit, jit_of
from jaxmeter.errors import JaxmeterError

Static = tuple[Collection[int], Collection[str]]
"""The positions and the names of the static arguments."""


def staged(case: Case, call: str) -> tuple[Any, jax.stages.Lowered]:
    """Trace and lower a case; return its closed jaxpr and its lowered program. Error messages name
    ``call``, the jaxmeter function that needs the program."""
    case = prepared(case)
    traced = trace(call, jitted(case)[0], case)
    return traced.jaxpr, traced.lower()


def prepared(case: Case) -> Case:
    """Return a case that JAX can trace.

    If the callable only calls a jitted function, as a jitted method does, the jitted function
    replaces the callable. A case with jit options keeps its callable.

    If the callable is not jitted, and the jit options name no static arguments, all leaves of the
    arguments except arrays and numbers are held fixed. If any leaf is held fixed, all leaves of the
    answer except arrays and numbers become None.
    """
    jit = jit_of(case.fn)
    if jit is not None and (jit is case.fn or not case.jit_options):
        args, kwargs = case.args, dict(case.kwargs)
        if isinstance(jit, KnownJit) and jit.attribute:
            # A library may treat a jax.ShapeDtypeStruct as part of the structure, not as a leaf.
            args, kwargs = filled((args, kwargs))
        return dataclasses.replace(case, fn=jit, args=args, kwargs=kwargs)
    fixed, (args, kwargs) = split(case.args, case.kwargs)
    if not fixed or {"static_argnums", "static_argnames"} & case.jit_options.keys():
        return case

    @functools.wraps(case.fn)
    def with_fixed(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = merged(fixed, args, kwargs)
        answer = case.fn(*args, **kwargs)
        return jax.tree.map(lambda leaf: leaf if is_traceable(leaf) else None, answer)

    with_fixed.__name__ = name_of(case.fn)
    return dataclasses.replace(case, fn=with_fixed, args=args, kwargs=kwargs)


def trace(call: str, jitted: Any, case: Case) -> Any:
    """Trace a prepared case. Error messages name ``call``, the jaxmeter function that needs the
    trace."""
    try:
        return jitted.trace(*case.args, **case.kwargs)
    except Exception as error:
        raise_from_call(call, case.fn, case.args, case.kwargs, error)


def jitted(case: Case) -> tuple[Any, ExecutionCounter | None]:
    """Return the jitted function of a case, and a counter of the runs of its Python body; the
    counter is None if the function was already jitted.

    The counter wraps the function, so JAX traces the function again. Without this wrapper, JAX
    might use an earlier trace, although a global array may have changed since that trace.
    """
    if not isinstance(case.fn, jax.stages.Wrapped):
        counter = ExecutionCounter(case.fn)
        return jax.jit(counter.wrapped, **case.jit_options), counter
    if case.jit_options:
        raise JaxmeterError(
            f"Case: got jit_options {sorted(case.jit_options)} for a function that is "
            "already jitted; give them to the jax.jit that made the function"
        )
    return case.fn, None


def fresh(case: Case) -> tuple[Any, ExecutionCounter | None]:
    """Clear the cache of a function that is already jitted; then return the result of `jitted`."""
    if isinstance(case.fn, jax.stages.Wrapped):
        # Functions jitted by another library may lack clear_cache.
        getattr(case.fn, "clear_cache", lambda: None)()
    return jitted(case)


@dataclasses.dataclass(frozen=True, eq=False)
class Whole:
    """A static argument, or a static leaf of an argument. It is treated as one leaf."""

    value: Any

    def __eq__(self, other: object) -> bool:
        try:
            return isinstance(other, Whole) and bool(self.value == other.value)
        except (TypeError, ValueError):  # an array, which cannot be static
            return False


def is_traceable(leaf: Any) -> bool:
    """Return whether JAX can trace a leaf: an array, a `jax.ShapeDtypeStruct`, or a number."""
    return hasattr(leaf, "shape") or isinstance(leaf, (bool, int, float, complex))


def split(
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    static: Static = ((), ()),
) -> tuple[dict[int, Any], Call]:
    """Return the leaves that JAX cannot trace, by their positions, and the arguments with None in
    place of these leaves. Each static argument counts as one such leaf."""
    leaves, tree = _flat(marked(args, kwargs, static))
    fixed = {
        number: leaf
        for number, leaf in enumerate(leaves)
        if leaf is not None and not is_traceable(leaf)
    }
    return fixed, tree.unflatten(
        None if number in fixed else leaf for number, leaf in enumerate(leaves)
    )


def merged(fixed: Mapping[int, Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Call:
    """Return the arguments of a call, with the fixed leaves from `split` put back."""
    leaves, tree = _flat((args, dict(kwargs)))
    args, kwargs = tree.unflatten(fixed.get(number, leaf) for number, leaf in enumerate(leaves))
    return tuple(map(_inside, args)), {name: _inside(value) for name, value in kwargs.items()}


def filled(tree: Any) -> Any:
    """Return a pytree with each `jax.ShapeDtypeStruct` replaced by an array of ones or of random
    keys."""

    def fill(leaf: Any) -> Any:
        if not isinstance(leaf, jax.ShapeDtypeStruct):
            return leaf
        if jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jax.random.split(jax.random.key(0), leaf.shape)
        return jax.numpy.ones(leaf.shape, leaf.dtype)

    return jax.tree.map(fill, tree)


def marked(args: tuple[Any, ...], kwargs: Mapping[str, Any], static: Static) -> Call:
    """Return the arguments with each static argument wrapped as one leaf."""
    numbers, names = static
    numbers = {n % len(args) for n in numbers if -len(args) <= n < len(args)}
    marked = tuple(Whole(value) if n in numbers else value for n, value in enumerate(args))
    named = {name: Whole(value) if name in names else value for name, value in kwargs.items()}
    return marked, named


def _flat(tree: Any) -> tuple[list[Any], Any]:
    return jax.tree.flatten(tree, is_leaf=lambda leaf: leaf is None)


def _inside(value: Any) -> Any:
    return value.value if isinstance(value, Whole) else value
