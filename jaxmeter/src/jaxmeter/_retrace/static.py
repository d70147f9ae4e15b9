"""Find the static arguments of a call of a jitted function, and describe the call."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import jax

from jaxmeter._measure.jits import KnownJit
from jaxmeter._measure.staging import split
from jaxmeter._retrace.signatures import Signature, is_number, signature

Static = tuple[set[int], set[str]]
"""The positions and the names of the static arguments."""


def static_arguments(information: Any) -> Static:
    """Return the positions and the names of the static arguments of a jitted function, from its
    attribute ``_jit_info``; both sets are empty if `information` is None."""
    return (
        set(getattr(information, "static_argnums", None) or ()),
        set(getattr(information, "static_argnames", None) or ()),
    )


def has_static_numbers(args: tuple[Any, ...], kwargs: Mapping[str, Any], static: Static) -> bool:
    """Return whether a library that makes this call of `jax.jit` makes the Python numbers of its
    users static. If so, the arguments contain no number, except for the static arguments."""
    passed = split(args, kwargs, static)[1]
    return not any(map(is_number, jax.tree.leaves(passed)))


def call_signature(
    jitted: Any, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Signature:
    """Return the signature of a call of ``jitted``, the jitted form of ``fn``."""
    static_numbers = False
    if isinstance(jitted, KnownJit) and jitted.attribute:
        inner = static_arguments(getattr(jitted.jit, "_jit_info", None))

        def use(*args: Any, **kwargs: Any) -> bool:
            return has_static_numbers(args, kwargs, inner)

        with contextlib.suppress(Exception):  # the call itself raises this exception again
            static_numbers = jitted.leave_with(use, args, kwargs)
    static = static_arguments(getattr(jitted, "_jit_info", None))
    return signature(fn, args, kwargs, static, static_numbers=static_numbers)
