"""Checks for the exercises of lesson 4: captured constants."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp

import jaxmeter
from workshop.checks.counting import expect_close, own_counts
from workshop.course import Unsolved, exercise, expect


def _audit(call: str, function: Callable, *args: Any) -> jaxmeter.Audit:
    """Return the audit of a function; raise `Unsolved` if it does not take the arguments."""
    try:
        return jaxmeter.audit(function, *args)
    except jaxmeter.JaxmeterError:
        message = f"{call} fails; the function should take two arguments that are not static"
        raise Unsolved(message) from None


@exercise(
    "4_constants/1_argument",
    "Where does `transform` get the matrix from?",
    "def transform(matrix, x): return matrix @ x",
)
def argument(module: ModuleType) -> None:
    """Check that `transform` takes the matrix and captures nothing."""
    matrix, x = jnp.sin(jnp.arange(4096.0)).reshape(64, 64), jnp.linspace(0.0, 1.0, 64)
    audit = _audit("transform(matrix, x)", module.transform, matrix, x)
    expect(
        audit.captured_bytes == 0,
        f"`transform` captures {audit.captured_bytes:,} bytes: "
        + ", ".join(array.path or "?" for array in audit.arrays),
    )
    message = "transform(matrix, x) should return matrix @ x"
    expect_close(module.transform(matrix, x), matrix @ x, message, hint=1)


@exercise(
    "4_constants/2_method",
    "`static_argnums=0` makes the object and its arrays part of the program.",
    "Make Telescope a dataclass with the decorator `jax.tree_util.register_dataclass`. "
    "Then jit the method without static arguments.",
)
def method(module: ModuleType) -> None:
    """Check that a Telescope is a pytree of arrays, and that two Telescopes share a program."""
    masks = [jnp.linspace(0.0, 1.0, 32), jnp.linspace(1.0, 0.0, 32)]
    telescopes = [module.Telescope(modes=jnp.outer(mask, mask), mask=mask) for mask in masks]
    leaves = jax.tree.leaves(telescopes[0])
    expect(
        len(leaves) == 2 and all(isinstance(leaf, jax.Array) for leaf in leaves),
        "a Telescope should be a pytree with two arrays as leaves",
    )
    x = jnp.linspace(-1.0, 1.0, 32)
    captured = jaxmeter.audit(module.observe, telescopes[0], x).captured_bytes
    expect(captured == 0, f"`observe` captures {captured:,} bytes, not 0", hint=1)
    _, compiles, _ = own_counts(lambda: [module.observe(one, x) for one in telescopes])
    expect(compiles == 1, f"two telescopes took {compiles} compiles, not 1", hint=1)
    message = "`observe` should return mask * (modes @ field)"
    for telescope, mask in zip(telescopes, masks, strict=True):
        wanted = mask * (jnp.outer(mask, mask) @ x)
        expect_close(module.observe(telescope, x), wanted, message)


@exercise(
    "4_constants/3_folding",
    "The sort depends on the table alone. When is the table known?",
    "Let `prepare` return the sorted table. Let `rank` take this table as its first argument.",
)
def folding(module: ModuleType) -> None:
    """Check that `rank` takes the prepared table, and that it neither sorts nor captures arrays."""
    table, x = jnp.sin(jnp.arange(100.0) ** 2), jnp.array([-2.0, 0.0, 0.5])
    prepared = module.prepare(table)
    captured = _audit("rank(prepare(table), x)", module.rank, prepared, x).captured_bytes
    primitives = jaxmeter.inventory(module.rank, prepared, x).primitives or {}
    expect("sort" not in primitives, "the program still sorts, in every call or at compile time")
    expect(captured == 0, f"`rank` captures {captured:,} bytes, not 0", hint=1)
    wanted = jnp.array([int((table < value).sum()) for value in x])
    expect_close(module.rank(prepared, x), wanted, f"`rank` should return {wanted}", hint=1)
