"""Make functions of seven kinds, in two forms: plain, and as a loop.

A plain function is ordinary user code. A loop repeats the loop body of its kind. The number of
iterations is an argument, so loops of 100 and of 110 iterations have the same program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxmeter import Case


@dataclass(frozen=True)
class Kind:
    """A kind of function: a plain function, and a loop body that keeps the shape of its input."""

    plain: Callable[[Any], Any]
    body: Callable[[Any], Any]
    plain_shape: tuple[int, ...]
    body_shape: tuple[int, ...]
    length: int
    """Number of iterations of the original loop. Longer loops are compared with this loop."""


def _matmul(x: Any) -> Any:
    return jnp.tanh(x @ x)


def _scan(x: Any) -> Any:
    return jax.lax.scan(lambda total, row: (jnp.sin(total + row), total.sum()), x[0], x)[0]


def _scan_body(x: Any) -> Any:
    return x * 0.5 + jax.lax.scan(lambda total, row: (total * 0.5 + row, None), x[0], x)[0]


def _fft(x: Any) -> Any:
    return jnp.fft.ifft(jnp.fft.fft(x) * 0.5).real


def _gather(x: Any) -> Any:
    where = (jnp.arange(x.shape[0]) * 7919) % x.shape[0]
    return x[where] + 0.5 * x[where[::-1]]


def _long(x: Any) -> Any:
    return jnp.sort(jnp.sin(x), axis=0) @ jnp.cos(x)


KINDS = {
    "tiny": Kind(lambda x: x * 2.0 + 1.0, lambda x: x * 0.5 + 1.0, (8,), (8,), 4000),
    "elementwise": Kind(
        lambda x: jnp.exp(jnp.sin(x)) * x, lambda x: jnp.sin(x) + 0.5, (20000,), (1000,), 200
    ),
    "matmul": Kind(_matmul, _matmul, (160, 160), (32, 32), 200),
    "scan": Kind(_scan, _scan_body, (100, 64), (8, 32), 200),
    "fft": Kind(_fft, _fft, (8192,), (256,), 200),
    "gather": Kind(_gather, _gather, (20000,), (1000,), 200),
    "long": Kind(_long, _matmul, (180, 180), (80, 80), 200),
}


def plain(kind: str, seed: int) -> Case:
    """Return a case with a new copy of a kind's plain function."""
    made = KINDS[kind]

    def function(x: Any) -> Any:
        return made.plain(x)

    return Case(function, (_numbers(made.plain_shape, seed),))


def loop(kind: str, seed: int, more: float = 0.0) -> Case:
    """Return a case with a new function that runs the body of a kind in a loop.

    The loop has 1 + `more` times as many iterations as the kind's original loop. The number of
    iterations is an argument of the function, so loops of all lengths have the same program.
    """
    made = KINDS[kind]
    length = round(made.length * (1 + more))

    def function(x: Any, length: Any) -> Any:
        return jax.lax.fori_loop(0, length, lambda _, y: made.body(y), x)

    return Case(function, (_numbers(made.body_shape, seed), jnp.asarray(length)))


FORMS = {"plain": plain, "loop": loop}


def _numbers(shape: tuple[int, ...], seed: int) -> Any:
    draw = np.random.default_rng(seed).normal(size=shape).astype("float32")
    return jnp.asarray(draw / np.sqrt(shape[-1]))
