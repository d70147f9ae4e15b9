"""Functions that hold their captured array in different ways, each with the path to the array.

Each function captures one array of `CUBE_BYTES`, and has one argument like `X`.
"""

import collections
import contextlib
import dataclasses
import functools
import sys
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

HOST = np.random.default_rng(0).normal(size=(64, 3))
X = jnp.ones(3)
CUBE_BYTES = 64 * 3 * 8


def cube():
    return jnp.asarray(HOST)


class Held(NamedTuple):
    """A function, and the path to its captured array."""

    fn: Callable[..., Any]
    path: str
    argument: str
    """The holder that should be an argument."""
    match: str = "same"


@dataclasses.dataclass(frozen=True)
class OpticalPath:
    coronagraph: Any
    names: tuple[str, ...] = ("lyot", "mask")


class Model:
    table = {"deep": cube()}

    def __init__(self, weights):
        self.weights = weights

    def apply(self, x):
        return self.weights[0] @ x

    def apply_through_another(self, x):
        return self._first(x)

    def _first(self, x):
        return self.weights[0] @ x

    @classmethod
    def of_no_object(cls, x):
        return cls.table["deep"] @ x

    def of_the_class(self, x):
        return self.table["deep"] @ x

    def __call__(self, x):
        return self.weights[0] @ x


class Submodel(Model):
    pass


class Slotted:
    __slots__ = ("cube",)

    def __init__(self, cube):
        self.cube = cube


class Exploding:
    """An object with one readable member."""

    def __init__(self, weights):
        self.weights = weights

    def __getattr__(self, name):
        raise ValueError(f"no {name} here")


class ExplodingMapping(dict):
    def __getitem__(self, key):
        raise ValueError("no items here")


Pair = collections.namedtuple("Pair", "first second")

MODEL = Model([cube()])
SELF = ("self.weights[0]", "self")
CLASS = ("Model.table['deep']", "Model")
HELD = {
    "bound_method": Held(MODEL.apply, *SELF),
    "jitted_bound_method": Held(jax.jit(MODEL.apply), *SELF),
    "method_through_another": Held(MODEL.apply_through_another, *SELF),
    "object_that_is_called": Held(MODEL, *SELF),
    "class_attribute": Held(Model([]).of_the_class, *CLASS),
    "class_method": Held(Model.of_no_object, *CLASS),
    "class_method_inherited": Held(Submodel.of_no_object, *CLASS),
    "class_in_a_function": Held(lambda x: Model.table["deep"] @ x, *CLASS),
}


def closures():
    """Return functions that hold their array in a variable of this function."""
    optical_path, model = OpticalPath(types.SimpleNamespace(cube=cube())), Model((cube(),))
    settings = {"masks": {"lyot": [None, cube()]}}
    pair, slotted = Pair(1, cube()), Slotted(cube())
    hidden, shown, numbers = ExplodingMapping(a=cube()), Exploding(cube()), list(range(10**6))
    return {
        "members_of_dataclasses": Held(
            lambda x: optical_path.coronagraph.cube @ x,
            "optical_path.coronagraph.cube",
            "optical_path",
        ),
        "object_in_a_closure": Held(lambda x: model.apply(x), "model.weights[0]", "model"),
        "containers_in_containers": Held(
            lambda x: settings["masks"]["lyot"][1] @ x,
            "settings['masks']['lyot'][1]",
            "settings",
        ),
        "named_tuple": Held(lambda x: pair.second @ x, "pair.second", "pair"),
        "slots": Held(lambda x: slotted.cube @ x, "slotted.cube", "slotted"),
        "objects_that_cannot_be_inspected": Held(
            lambda x: shown.weights @ x + len(hidden) + numbers[3], "shown.weights", "shown"
        ),
    }


def defaults_and_partials():
    """Return functions that hold their array as the default or partial value of an argument."""

    def with_a_default(x, scale=cube()):  # noqa: B008
        return scale @ x

    def with_a_keyword(x, *, scale={"a": cube()}):  # noqa: B006, B008
        return scale["a"] @ x

    product = lambda x, *, scale: scale @ x  # noqa: E731
    inner = functools.partial(lambda a, b, x: a * (b @ x), 2.0)
    stage = functools.partial(lambda scale, x: scale @ x, cube())
    return {
        "default": Held(with_a_default, "default of scale", "scale"),
        "default_of_a_keyword": Held(with_a_keyword, "default of scale['a']", "scale"),
        "partial_of_a_keyword": Held(
            functools.partial(product, scale=cube()), "partial argument scale", "scale"
        ),
        "partial_of_a_partial": Held(functools.partial(inner, cube()), "partial argument b", "b"),
        "partial_of_jax": Held(
            jax.tree_util.Partial(lambda scale, x: scale[0] @ x, [cube()]),
            "partial argument scale[0]",
            "scale",
        ),
        "partial_in_a_closure": Held(lambda x: stage(x), "stage.args[0]", "stage"),
    }


def functions_in_closures(matrix):
    """Return functions with `matrix` in their closure, or in the closure of a called function."""

    def apply(x):
        return matrix @ x

    def doubled(fn):
        return functools.wraps(fn)(lambda x: 2.0 * fn(x))

    stages = {"last": lambda x: matrix @ x}
    function = lambda x: matrix @ x  # noqa: E731
    run = jax.jit(lambda f, x: f(x), static_argnums=0)
    gradient = jax.grad(lambda s: (matrix @ (s * jnp.ones(3))).sum())
    held = {
        "function_in_a_closure": ("closure of apply: matrix", lambda x: 2.0 * apply(x)),
        "function_in_a_container": (
            "closure of stages['last']: matrix",
            lambda x: stages["last"](x),
        ),
        "static_callable": ("closure of function: matrix", lambda x: run(function, x)),
        "decorated": ("matrix", doubled(lambda x: matrix @ x)),
        "jit_of_vmap_of_grad": ("matrix", jax.jit(jax.vmap(gradient))),
    }
    return {name: Held(fn, path, "matrix") for name, (path, fn) in held.items()}


def changed_while_traced(matrix, transposed):
    """Return functions that make their captured array from another array during the trace."""
    return {
        "copied_while_traced": Held(lambda x: matrix.copy() @ x, "matrix", "matrix", "equal"),
        "made_while_traced": Held(lambda x: (matrix + 1.0) @ x, "", "", "unknown"),
        "transposed_while_traced": Held(
            lambda x: transposed.T @ x, "transposed", "transposed", "view"
        ),
    }


def in_a_deque(recent):
    return {"deque": Held(lambda x: recent[0] @ x, "recent[0]", "recent")}


MODULE: Any = types.ModuleType("module_of_tables")
MODULE.CUBE = cube()
sys.modules["module_of_tables"] = MODULE
PACKAGE, SUBPACKAGE = types.ModuleType("tables"), types.ModuleType("tables.inside")
vars(PACKAGE)["inside"] = SUBPACKAGE
vars(SUBPACKAGE).update(tables=MODULE, package=PACKAGE)


def import_in_the_body(x):
    import module_of_tables  # pyright: ignore

    return module_of_tables.CUBE @ x


HELD |= closures() | defaults_and_partials() | functions_in_closures(cube())
HELD |= changed_while_traced(np.array(HOST), np.array(HOST.T)) | in_a_deque(
    collections.deque([cube()])
)
HELD |= {
    "attribute_of_a_module": Held(lambda x: MODULE.CUBE @ x, "MODULE.CUBE", "CUBE"),
    "attribute_of_a_submodule": Held(
        lambda x: PACKAGE.inside.tables.CUBE @ x, "PACKAGE.inside.tables.CUBE", "CUBE"
    ),
    "module_imported_in_the_body": Held(import_in_the_body, "module_of_tables.CUBE", "CUBE"),
}

with contextlib.suppress(ImportError):
    import equinox as eqx

    class Layer(eqx.Module):
        weight: jax.Array
        name: str = eqx.field(static=True, default="layer")

        def __call__(self, x):
            return self.weight @ x

    def equinox_situations(layer, layers):
        return {
            "equinox_module": Held(layer, "self.weight", "self"),
            "equinox_bound_method": Held(layer.__call__, "self.weight", "self"),
            "equinox_module_in_a_closure": Held(
                lambda x: layers[0](x), "layers[0].weight", "layers"
            ),
            "equinox_jit_of_a_closure": Held(
                eqx.filter_jit(lambda x: layer(x)), "layer.weight", "layer"
            ),
        }

    HELD |= equinox_situations(Layer(cube()), [Layer(cube())])
