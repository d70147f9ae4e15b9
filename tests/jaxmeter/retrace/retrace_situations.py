"""Sequences of calls with the truth known by construction: which calls trace, and why.

The truth of a call is None if nothing is traced or compiled, "" for the first trace, and otherwise
the causes, each as ``kind of argument: before -> now``, marked if the call only compiles.
"""

import functools
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

X = jnp.ones(3)
Y = jnp.ones(4)
DEVICE = jax.devices()[0]
FIRST = ""
COMPILED_ONLY = "compiled only: "


@dataclass(frozen=True)
class Situation:
    """A function, its calls, and the truth of each call."""

    fn: Callable[..., Any]
    calls: Callable[[], Iterable[Any]]
    truth: tuple[str | None, ...]
    options: dict[str, Any] = field(default_factory=dict)


class Pair(NamedTuple):
    left: Any
    right: Any


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Layer:
    weights: Any
    depth: int = field(metadata={"static": True}, default=1)


class Plain:
    """Compares by identity."""


@dataclass(frozen=True)
class Settings:
    """Compares by value."""

    size: int


def scaled(x, factor=1):
    return x * factor


def powers(x, n=2, *, activation=None):
    return x**n if activation is None else activation(x)


def summed(params, *rest, **named):
    return sum(jax.tree.leaves((params, rest, named)), jnp.zeros(()))


def many(x, n):
    return x.sum() * jnp.arange(n, dtype=x.dtype).sum()


def made_again():
    for _ in range(3):

        def sine(x):
            return jnp.sin(x)

        yield (X,), {"activation": sine}


def options_of_jax():
    yield (X,)
    with jax.default_matmul_precision("float32"):
        yield (X,)
        yield (X,)
    yield (X,)


def static_values():
    for n in (20, 20, 21):
        yield (X, n)
    yield (X,), {"n": 20}
    yield (X, 20)


f32 = np.float32

SINE_LINE = inspect.getsourcelines(made_again)[1] + 3

SITUATIONS = {
    "the same shapes": Situation(
        scaled, lambda: [(X,), (X + 1,), (np.ones(3),)], (FIRST, None, None)
    ),
    "numbers of one type": Situation(scaled, lambda: [(X, 1), (X, 2), (X, 3)], (FIRST, None, None)),
    "shape": Situation(
        scaled,
        lambda: [(X,), (Y,), (X,), (jnp.ones((3, 4)),), (Y,)],
        (FIRST, "shape of x: (3,) -> (4,)", None, "shape of x: (3,) -> (3, 4)", None),
    ),
    "only the branch taken": Situation(
        lambda x: jnp.sin(x) if x.ndim == 1 else jnp.cos(x),
        lambda: [(X,), (jnp.ones((2, 2)),), (X,), (Y,), (Y,), (jnp.ones((2, 2)),)],
        (
            FIRST,
            "shape of x: (3,) -> (2, 2)",
            None,
            "shape of x: (3,) -> (4,)",
            None,
            None,
        ),
    ),
    "dtype": Situation(
        scaled,
        lambda: [(X,), (X.astype(f32),), (np.ones(3, f32),)],
        (FIRST, "dtype of x: float64 -> float32", None),
    ),
    "number of another type": Situation(
        scaled,
        lambda: [(X, 2), (X, 2.0), (X, 3.0)],
        (FIRST, "dtype of factor: int64 -> float64", None),
    ),
    "weak type": Situation(
        scaled,
        lambda: [
            (X, 2.0),
            (X, jnp.asarray(2.0)),  # weak, without a dtype
            (X, jnp.asarray(2.0, np.float64)),
            (X, np.float64(2.0)),
            (X, 4.0),
        ],
        (FIRST, None, "weak type of factor: weak float64 -> strong float64", None, None),
    ),
    "weak type of what is computed from numbers": Situation(
        scaled,
        lambda: [(X, jnp.ones(())), (X, jnp.sin(1.0))],
        (FIRST, "weak type of factor: strong float64 -> weak float64"),
    ),
    "static value": Situation(
        many,
        static_values,
        (
            FIRST,
            None,
            "static value of n: 20 -> 21",
            "form of n: by position -> by keyword",
            None,
        ),
        {"static_argnums": 1},
    ),
    "static value by name": Situation(
        powers,
        lambda: [((X,), {"n": n}) for n in range(1, 5)] + [((X,), {"n": 1})],
        (
            FIRST,
            "static value of n: 1 -> 2",
            "static value of n: 2 -> 3",
            "static value of n: 3 -> 4",
            None,
        ),
        {"static_argnames": "n"},
    ),
    "equal settings": Situation(
        lambda x, settings: x * settings.size,
        lambda: [(X, Settings(2)), (X, Settings(2)), (X, Settings(3))],
        (FIRST, None, "static value of settings: Settings(size=2) -> Settings(size=3)"),
        {"static_argnames": "settings"},
    ),
    "a static object made again": Situation(
        lambda x, plain: x,
        lambda: [(X, Plain()), (X, Plain())],
        (FIRST, "plain: a Plain, made again"),
        {"static_argnames": "plain"},
    ),
    "a static number that is not equal to itself": Situation(
        lambda x, n: x,
        lambda: [(X, float("nan")), (X, float("nan"))],
        (FIRST, "static value of n: nan -> nan"),
        {"static_argnames": "n"},
    ),
    "keyword instead of position": Situation(
        scaled,
        lambda: [(X, 2), ((X,), {"factor": 2}), ((), {"x": X, "factor": 2}), (X, 3)],
        (
            FIRST,
            "form of factor: by position -> by keyword",
            "form of x: by position -> by keyword",
            None,
        ),
    ),
    "a default that is given": Situation(
        scaled,
        lambda: [(X,), (X, 1), (X,)],
        (FIRST, "form of factor: left out -> by position", None),
    ),
    "another number of arguments": Situation(
        summed,
        lambda: [(X[0], 1.0), (X[0], 1.0, 2.0), ((X[0], 1.0), {"z": 1.0})],
        (FIRST, "form of rest[1]: left out -> by position", "form of z: left out -> by keyword"),
    ),
    "keys of a dictionary": Situation(
        lambda params: params["w"],
        lambda: [({"w": X},), ({"w": X, "b": Y},), ({"w": X},)],
        (FIRST, "structure of params['b']: nothing -> float64[4]", None),
    ),
    "order of the keys of a dictionary": Situation(
        lambda params: params["w"],
        lambda: [({"w": X, "b": Y},), ({"b": Y, "w": X},)],
        (FIRST, None),
    ),
    "an array within a dictionary": Situation(
        lambda params: params["a"][1]["w"],
        lambda: [({"a": [X, {"w": X}]},), ({"a": [X, {"w": Y}]},)],
        (FIRST, "shape of params['a'][1]['w']: (3,) -> (4,)"),
    ),
    "list and tuple": Situation(
        lambda pair: pair[0],
        lambda: [([X, X],), ((X, X),), ([X, X],)],
        (FIRST, "structure of pair: PyTreeDef([*, *]) -> PyTreeDef((*, *))", None),
    ),
    "a static attribute of a class of its own": Situation(
        lambda layer: layer.weights * layer.depth,
        lambda: [(Layer(X, 1),), (Layer(X, 2),), (Layer(Y, 2),)],
        (
            FIRST,
            "structure of layer: PyTreeDef(CustomNode(Layer[(1,)], [*])) -> "
            "PyTreeDef(CustomNode(Layer[(2,)], [*]))",
            "shape of layer.weights: (3,) -> (4,)",
        ),
    ),
    "None and an array": Situation(
        lambda x, mask: x,
        lambda: [(X, None), (X, X)],
        (FIRST, "structure of mask: nothing -> float64[3]"),
    ),
    "an attribute of a class of its own": Situation(
        lambda layer: layer.weights * layer.depth,
        lambda: [(Layer(X),), (Layer(Y),), (Layer(X),)],
        (FIRST, "shape of layer.weights: (3,) -> (4,)", None),
    ),
    "two arguments at once": Situation(
        lambda a, b: (a, b),
        lambda: [(X, X), (Y, X.astype(f32))],
        (FIRST, "shape of a: (3,) -> (4,); dtype of b: float64 -> float32"),
    ),
    "the nearest of the earlier calls": Situation(
        lambda a, b: a.sum() + b.sum(),
        lambda: [(X, X), (Y, jnp.ones((2, 2))), (X, Y), (Y, Y)],
        (
            FIRST,
            "shape of a: (3,) -> (4,); shape of b: (3,) -> (2, 2)",
            "shape of b: (3,) -> (4,)",
            "shape of a: (3,) -> (4,)",
        ),
    ),
    "an option of JAX": Situation(
        scaled,
        options_of_jax,
        (FIRST, "option jax_default_matmul_precision: None -> 'float32'", None, None),
    ),
    "an array committed to its device": Situation(
        scaled,
        lambda: [(X,), (jax.device_put(X, DEVICE),), (X,), (jax.device_put(X, DEVICE),)],
        (
            FIRST,
            f"{COMPILED_ONLY}placement of x: not committed, on {DEVICE} -> committed to {DEVICE}",
            None,
            None,
        ),
    ),
    "a partial given as an argument": Situation(
        lambda apply, x: apply(x),
        lambda: [(jax.tree_util.Partial(jnp.multiply, value), X) for value in (X, X + 1)],
        (FIRST, None),
    ),
    "a key of random numbers": Situation(
        lambda key: jax.random.normal(key),
        lambda: [(jax.random.key(0),), (jax.random.key(1),)],
        (FIRST, None),
    ),
    "a partial": Situation(
        functools.partial(scaled, factor=3),
        lambda: [(X,), (Y,)],
        (FIRST, "shape of x: (3,) -> (4,)"),
    ),
    "a static function made again": Situation(
        powers,
        made_again,
        (
            FIRST,
            f"activation: sine of {__file__}:{SINE_LINE}, made again",
            f"activation: sine of {__file__}:{SINE_LINE}, made again",
        ),
        {"static_argnames": "activation"},
    ),
}
