"""Find the static arguments of a call of a jitted function, and describe the call."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import jax

from jaxmeter._measure.jits import KnownJit
from jaxmeter._measure.staging import Static, Whole, split
from jaxmeter._retrace.signatures import Signature, is_number, signature


def static_arguments(information: Any) -> Static:
    """Return the positions and the names of the static arguments of a jitted function, from its
    attribute ``_jit_info``; both sets are empty if `information` is None."""
    numbers, names = (
        getattr(information, name, None) or () for name in ("static_argnums", "static_argnames")
    )
    return numbers, names


def has_static_numbers(
    given: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], static: Static
) -> bool:
    """Return whether a library makes the Python numbers of its users static. ``given`` are the
    arguments that a user gave to the library. ``args`` and ``kwargs`` are the arguments that the
    library passes to `jax.jit`."""
    fixed, _ = split(args, kwargs, static)
    values = [leaf.value for leaf in fixed.values() if isinstance(leaf, Whole)]
    held = set(map(id, jax.tree.leaves(values)))
    return all(id(leaf) in held for leaf in jax.tree.leaves(given) if is_number(leaf))


def call_signature(
    jitted: Any, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Signature:
    """Return the signature of a call of ``jitted``, the jitted form of ``fn``."""
    static_numbers = False
    if isinstance(jitted, KnownJit) and jitted.attribute:
        inner = static_arguments(getattr(jitted.jit, "_jit_info", None))

        def use(*passed: Any, **named: Any) -> bool:
            return has_static_numbers((args, kwargs), passed, named, inner)

        with contextlib.suppress(Exception):  # the call itself raises this exception again
            static_numbers = jitted.leave_with(use, args, kwargs)
    static = static_arguments(getattr(jitted, "_jit_info", None))
    return signature(fn, args, kwargs, static, static_numbers=static_numbers)
