"""Count traces and compiles, and compare results, for the checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import jaxmeter
from workshop.course import expect


def own_counts(call: Callable[[], Any]) -> tuple[int, int]:
    """Return the numbers of traces and compiles in a call, not counting JAX's own functions."""
    with jaxmeter.watch() as watched:
        call()
    own = [one for one in watched.report.functions if not one.is_jax]
    return sum(one.traces_count for one in own), sum(one.compiles_count for one in own)


def expect_close(found: Any, wanted: Any, message: str, *, hint: int = 0) -> None:
    """Raise `Unsolved` unless two trees of numbers have equal shapes and nearly equal values."""
    found, wanted = jax.tree.leaves(found), jax.tree.leaves(wanted)
    is_close = len(found) == len(wanted) and all(
        np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-5, atol=1e-6)
        for a, b in zip(found, wanted, strict=True)
    )
    expect(is_close, message, hint=hint)
