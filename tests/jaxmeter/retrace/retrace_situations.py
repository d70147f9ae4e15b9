"""Sequences of calls whose traces and causes are known by construction.

The first call of each sequence traces. The truth of each later call is None if nothing is traced or
compiled. Otherwise the truth is a text with the causes, such as ``shape of x: (3,) -> (4,)``. The
text begins with `COMPILED_ONLY` if the call compiles without a trace.
"""

import enum
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

X = jnp.ones(3)
Y = jnp.ones(4)
SQUARE = jnp.ones((2, 2))
DEVICE = jax.devices()[0]
COMMITTED = jax.device_put(X, DEVICE)
COMPILED_ONLY = "compiled only: "


class Situation(NamedTuple):
    """A function, its calls, the truth of each call but the first, and the options of jit."""

    fn: Callable[..., Any]
    calls: Any
    """A function that returns or yields the calls."""
    truth: tuple[str | None, ...]
    options: dict[str, Any]


def calls_of(fn, calls, *truth, **options):
    return Situation(fn, calls if callable(calls) else lambda: calls, truth, options)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Layer:
    weights: Any
    depth: int = field(metadata={"static": True}, default=1)


class Plain:
    """Compares by identity."""


class Mode(enum.Enum):
    FAST = 1
    EXACT = 2


@dataclass(frozen=True, eq=False)
class Sizes:
    """Compares by identity, and shows its content."""

    size: int


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


def applied(layer):
    return layer.weights * layer.depth


class PassesNumbers:
    """A function jitted by a library that passes Python numbers on to JAX, as flax nnx does."""

    def __init__(self, fn):
        self.__wrapped__ = fn
        self.jitted: Any = jax.jit(fn)
        self.lower, self.clear_cache = self.jitted.lower, self.jitted.clear_cache

    def __call__(self, *args, **kwargs):
        return self.jitted(*args, **kwargs)


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


f32 = np.float32
PARTIALS = [functools.partial(int, number) for number in (1, 2, 2)]
SINE = f"activation: sine of {__file__}:{inspect.getsourcelines(made_again)[1] + 3}, made again"

SITUATIONS = {
    "shape": calls_of(
        scaled,
        [(X,), (Y,), (X,), (jnp.ones((3, 4)),), (Y,)],
        *("shape of x: (3,) -> (4,)", None, "shape of x: (3,) -> (3, 4)", None),
    ),
    "dtype": calls_of(
        scaled,
        [(X,), (X + 1,), (np.ones(3),), (X.astype(f32),), (np.ones(3, f32),)],
        *(None, None, "dtype of x: float64 -> float32", None),
    ),
    "number of another type": calls_of(
        scaled,
        [(X, 2), (X, 3), (X, 2.0), (X, 3.0)],
        *(None, "dtype of factor: int64 -> float64", None),
    ),
    "weak type": calls_of(
        scaled,
        # The second array is made without a dtype, so it is weakly typed.
        [(X, n) for n in (2.0, jnp.asarray(2.0), jnp.asarray(2.0, "float64"), np.float64(2), 4.0)],
        *(None, "weak type of factor: weak float64 -> strong float64", None, None),
    ),
    "weak type of a result computed from numbers": calls_of(
        scaled,
        [(X, jnp.ones(())), (X, jnp.sin(1.0))],
        "weak type of factor: strong float64 -> weak float64",
    ),
    "static value": calls_of(
        lambda x, n: x.sum() * jnp.arange(n, dtype=x.dtype).sum(),
        [(X, 20), (X, 20), (X, 21), ((X,), {"n": 20}), (X, 20)],
        *(None, "static value of n: 20 -> 21", "form of n: by position -> by keyword", None),
        static_argnums=1,
    ),
    "equal settings": calls_of(
        lambda x, settings: x * settings.size,
        [(X, Settings(2)), (X, Settings(2)), (X, Settings(3))],
        *(None, "static value of settings: Settings(size=2) -> Settings(size=3)"),
        static_argnames="settings",
    ),
    "an item of a static tuple": calls_of(
        lambda x, sizes: x,
        [(X, (1, (2, "a"))), (X, (1, (2, "b"))), (X, (3, (2, "b")))],
        *("static value of sizes[1][1]: 'a' -> 'b'", "static value of sizes[0]: 1 -> 3"),
        static_argnames="sizes",
    ),
    "a static object made again": calls_of(
        lambda x, plain: x,
        [(X, Plain()), (X, Plain())],
        "plain: a Plain, made again",
        static_argnames="plain",
    ),
    "an object made again with the same content, and with other content": calls_of(
        lambda x, sizes: x,
        [(X, Sizes(1)), (X, Sizes(1)), (X, Sizes(2))],
        "sizes: Sizes(size=1), made again",
        "static value of sizes: Sizes(size=1) -> Sizes(size=2)",
        static_argnames="sizes",
    ),
    "different values that compare by identity are not made again": calls_of(
        lambda x, value: x,
        [(X, value) for value in (Mode.FAST, Mode.EXACT, np.float32, np.int32, *PARTIALS)],
        "static value of value: <Mode.FAST: 1> -> <Mode.EXACT: 2>",
        "static value of value: <Mode.EXACT: 2> -> <class 'numpy.float32'>",
        "static value of value: <class 'numpy.float32'> -> <class 'numpy.int32'>",
        "static value of value: <class 'numpy.int32'> -> functools.partial(<class 'int'>, 1)",
        "static value of value: functools.partial(<class 'int'>, 1) -> "
        "functools.partial(<class 'int'>, 2)",
        "value: functools.partial(<class 'int'>, 2), made again",
        static_argnames="value",
    ),
    "a static number that is not equal to itself": calls_of(
        lambda x, n: x,
        [(X, float("nan")), (X, float("nan"))],
        "static value of n: nan -> nan",
        static_argnames="n",
    ),
    "keyword instead of position": calls_of(
        scaled,
        [(X, 2), ((X,), {"factor": 2}), ((), {"x": X, "factor": 2}), (X, 3)],
        "form of factor: by position -> by keyword",
        *("form of x: by position -> by keyword", None),
    ),
    "a static value in place of its default": calls_of(
        lambda x, n=2: x * n,
        [(X,), ((X,), {"n": 3}), (X, 2), (X,)],
        *("static value of n: 2 -> 3", "form of n: left out -> by position", None),
        static_argnames="n",
    ),
    "another number of arguments": calls_of(
        summed,
        [(X[0], 1.0), (X[0], 1.0, 2.0), ((X[0], 1.0), {"z": 1.0})],
        *("form of rest[1]: left out -> by position", "form of z: left out -> by keyword"),
    ),
    "keys of a dictionary": calls_of(
        lambda params: params["w"],
        # The order of the keys does not matter.
        [({"w": X},), ({"w": X, "b": Y},), ({"b": Y, "w": X},), ({"w": X},)],
        *("structure of params['b']: nothing -> float64[4]", None, None),
    ),
    "an array within a dictionary": calls_of(
        lambda params: params["a"][1]["w"],
        [({"a": [X, {"w": X}]},), ({"a": [X, {"w": Y}]},)],
        "shape of params['a'][1]['w']: (3,) -> (4,)",
    ),
    "list and tuple": calls_of(
        lambda pair: pair[0],
        [([X, X],), ((X, X),), ([X, X],)],
        *("structure of pair: PyTreeDef([*, *]) -> PyTreeDef((*, *))", None),
    ),
    "a static attribute of a user's class": calls_of(
        applied,
        [(Layer(X, 1),), (Layer(X, 2),), (Layer(Y, 2),)],
        "structure of layer: PyTreeDef(CustomNode(Layer[(1,)], [*])) -> "
        "PyTreeDef(CustomNode(Layer[(2,)], [*]))",
        "shape of layer.weights: (3,) -> (4,)",
    ),
    "None and an array": calls_of(
        lambda x, mask: x, [(X, None), (X, X)], "structure of mask: nothing -> float64[3]"
    ),
    "the nearest of the earlier calls": calls_of(
        lambda a, b: a.sum() + b.sum(),
        [(X, X), (Y, SQUARE), (X, Y), (Y, Y)],
        "shape of a: (3,) -> (4,); shape of b: (3,) -> (2, 2)",
        *("shape of b: (3,) -> (4,)", "shape of a: (3,) -> (4,)"),
    ),
    "an option of JAX": calls_of(
        scaled,
        options_of_jax,
        *("option jax_default_matmul_precision: None -> 'float32'", None, None),
    ),
    "an array committed to its device": calls_of(
        scaled,
        [(X,), (COMMITTED,), (X,), (COMMITTED,)],
        f"{COMPILED_ONLY}placement of x: not committed -> committed to {DEVICE}",
        *(None, None),
    ),
    "a partial given as an argument": calls_of(
        lambda apply, x: apply(x),
        [(jax.tree_util.Partial(jnp.multiply, value), X) for value in (X, X + 1)],
        None,
    ),
    "a key of random numbers": calls_of(
        lambda key: jax.random.normal(key), [(jax.random.key(0),), (jax.random.key(1),)], None
    ),
    "a partial": calls_of(
        functools.partial(scaled, factor=3), [(X,), (Y,)], "shape of x: (3,) -> (4,)"
    ),
    "a static function made again": calls_of(
        powers, made_again, SINE, SINE, static_argnames="activation"
    ),
}
