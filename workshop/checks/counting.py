"""Count traces and compiles, and compare results, for the checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import jaxmeter
from workshop.course import expect


def own_counts(call: Callable[[], Any]) -> tuple[int, int, int]:
    """Count the traces and compiles in a call without JAX's own functions, and all compiles."""
    with jaxmeter.watch() as watched:
        call()
    own = [one for one in watched.report.functions if not one.is_jax]
    compiles = sum(one.compiles_count for one in own)
    return sum(one.traces_count for one in own), compiles, watched.report.compiles_count


def expect_pair(found: Any, message: str, *, hint: int = 0) -> Any:
    """Return a tuple or list of two values; raise `Unsolved` for anything else."""
    expect(isinstance(found, tuple | list) and len(found) == 2, message, hint=hint)
    return found


def expect_close(found: Any, wanted: Any, message: str, *, hint: int = 0) -> None:
    """Raise `Unsolved` unless two trees of numbers have equal shapes and nearly equal values."""
    found, wanted = jax.tree.leaves(found), jax.tree.leaves(wanted)
    is_close = len(found) == len(wanted) and all(
        np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-5, atol=1e-6)
        for a, b in zip(found, wanted, strict=True)
    )
    expect(is_close, message, hint=hint)
