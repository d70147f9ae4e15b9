"""Functions that hold the array they capture in different ways, each with the path to it.

A mark at the end of a line, ``# <- bound_method``, tells that the line uses the array in the
situation of this name. Each function captures one array of `CUBE_BYTES`, and has one argument
like `X`.
"""

import collections
import contextlib
import dataclasses
import functools
import sys
import types
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

HOST = np.random.default_rng(0).normal(size=(64, 3))
X = jnp.ones(3)
CUBE_BYTES = 64 * 3 * 8


def cube():
    return jnp.asarray(HOST)


@dataclasses.dataclass(frozen=True)
class Held:
    """A function, and the path to what it captures."""

    fn: Callable[..., Any]
    path: str
    argument: str
    """What should be an argument."""
    match: str = "same"


HELD: dict[str, Held] = {}


def held(path, argument, match="same"):
    """Adds what the decorated function makes."""

    def add(make):
        HELD[make.__name__] = Held(make(), path, argument, match)
        return make

    return add


@dataclasses.dataclass(frozen=True)
class Coronagraph:
    cube: jax.Array


@dataclasses.dataclass(frozen=True)
class OpticalPath:
    coronagraph: Coronagraph
    names: tuple[str, ...] = ("lyot", "mask")


class Model:
    table = {"deep": cube()}

    def __init__(self, weights):
        self.weights = weights

    def apply(self, x):
        return self.weights[0] @ x  # <- bound_method, jitted_bound_method, object_in_a_closure

    def apply_by_way_of(self, x):
        return self._first(x)

    def _first(self, x):
        return self.weights[0] @ x  # <- method_by_way_of_another

    @classmethod
    def of_no_object(cls, x):
        return cls.table["deep"] @ x  # <- class_method, class_method_inherited

    def of_the_class(self, x):
        return self.table["deep"] @ x  # <- class_attribute

    def __call__(self, x):
        return self.weights[0] @ x  # <- object_that_is_called


class Slotted:
    __slots__ = ("cube",)

    def __init__(self, cube):
        self.cube = cube


Pair = collections.namedtuple("Pair", "first second")


def doubled(fn):
    @functools.wraps(fn)
    def call(x):
        return 2.0 * fn(x)

    return call


@held("optical_path.coronagraph.cube", "optical_path")
def members_of_dataclasses():
    optical_path = OpticalPath(Coronagraph(cube()))
    return lambda x: optical_path.coronagraph.cube @ x  # <- members_of_dataclasses


@held("self.weights[0]", "self")
def bound_method():
    return Model([cube()]).apply


@held("self.weights[0]", "self")
def method_by_way_of_another():
    return Model([cube()]).apply_by_way_of


@held("Model.table['deep']", "Model")
def class_attribute():
    return Model([]).of_the_class


class Submodel(Model):
    pass


@held("Model.table['deep']", "Model")
def class_method():
    return Model.of_no_object


@held("Model.table['deep']", "Model")
def class_method_inherited():
    return Submodel.of_no_object


@held("Model.table['deep']", "Model")
def class_in_a_function():
    return lambda x: Model.table["deep"] @ x  # <- class_in_a_function


@held("self.weights[0]", "self")
def object_that_is_called():
    return Model([cube()])


@held("self.weights[0]", "self")
def jitted_bound_method():
    return jax.jit(Model([cube()]).apply)


@held("model.weights[0]", "model")
def object_in_a_closure():
    model = Model((cube(),))
    return lambda x: model.apply(x)


@held("settings['masks']['lyot'][1]", "settings")
def containers_in_containers():
    settings = {"masks": {"lyot": [None, cube()]}}
    return lambda x: settings["masks"]["lyot"][1] @ x  # <- containers_in_containers


@held("pair.second", "pair")
def named_tuple():
    pair = Pair(1, cube())
    return lambda x: pair.second @ x  # <- named_tuple


@held("slotted.cube", "slotted")
def slots():
    slotted = Slotted(cube())
    return lambda x: slotted.cube @ x  # <- slots


@held("default of scale", "scale")
def default():
    return lambda x, scale=cube(): scale @ x  # <- default  # noqa: B008


@held("default of scale['a']", "scale")
def default_of_a_keyword():
    def apply(x, *, scale={"a": cube()}):  # noqa: B006, B008
        return scale["a"] @ x  # <- default_of_a_keyword

    return apply


@held("partial argument scale", "scale")
def partial_of_a_keyword():
    return functools.partial(lambda x, *, scale: scale @ x, scale=cube())  # <- partial_of_a_keyword


@held("partial argument b", "b")
def partial_of_a_partial():
    inner = functools.partial(lambda a, b, x: a * (b @ x), 2.0)  # <- partial_of_a_partial
    return functools.partial(inner, cube())


@held("partial argument scale[0]", "scale")
def partial_of_jax():
    return jax.tree_util.Partial(lambda scale, x: scale[0] @ x, [cube()])  # <- partial_of_jax


@held("stage.args[0]", "stage")
def partial_in_a_closure():
    stage = functools.partial(lambda scale, x: scale @ x, cube())  # <- partial_in_a_closure
    return lambda x: stage(x)


@held("closure of apply: matrix", "matrix")
def function_in_a_closure():
    matrix = cube()

    def apply(x):
        return matrix @ x  # <- function_in_a_closure

    return lambda x: 2.0 * apply(x)


@held("closure of stages['last']: matrix", "matrix")
def function_in_a_container():
    matrix = cube()
    stages = {"last": lambda x: matrix @ x}  # <- function_in_a_container
    return lambda x: stages["last"](x)


@held("closure of function: matrix", "matrix")
def static_callable():
    matrix = cube()
    function = lambda x: matrix @ x  # <- static_callable  # noqa: E731
    run = jax.jit(lambda f, x: f(x), static_argnums=0)
    return lambda x: run(function, x)


@held("matrix", "matrix")
def decorated():
    matrix = cube()
    return doubled(lambda x: matrix @ x)  # <- decorated


@held("matrix", "matrix")
def jit_of_vmap_of_grad():
    matrix = cube()
    gradient = jax.grad(lambda s: (matrix @ (s * jnp.ones(3))).sum())  # <- jit_of_vmap_of_grad
    return jax.jit(jax.vmap(gradient))


@held("matrix", "matrix")
def copied_while_traced():
    matrix = np.array(HOST)
    return lambda x: matrix.copy() @ x  # <- copied_while_traced


HELD["copied_while_traced"] = dataclasses.replace(HELD["copied_while_traced"], match="equal")


@held("", "", match="unknown")
def made_while_traced():
    matrix = np.array(HOST)
    return lambda x: (matrix + 1.0) @ x  # <- made_while_traced


@held("matrix", "matrix", match="view")
def transposed_while_traced():
    matrix = np.array(HOST.T)
    return lambda x: matrix.T @ x  # <- transposed_while_traced


_module = types.ModuleType("module_of_tables")
_module.CUBE = cube()  # pyright: ignore[reportAttributeAccessIssue]
sys.modules["module_of_tables"] = _module


@held("_module.CUBE", "CUBE")
def attribute_of_a_module():
    return lambda x: _module.CUBE @ x  # <- attribute_of_a_module  # pyright: ignore


@held("module_of_tables.CUBE", "CUBE")
def module_imported_in_the_body():
    def apply(x):
        import module_of_tables  # pyright: ignore

        return module_of_tables.CUBE @ x  # <- module_imported_in_the_body

    return apply


@held("cube", "cube")
def shard_map():
    mesh = jax.make_mesh((1,), ("rows",), axis_types=(jax.sharding.AxisType.Auto,))
    spec = jax.sharding.PartitionSpec("rows")

    def make(cube):
        def apply(x):
            return cube @ x  # <- shard_map

        return jax.shard_map(apply, mesh=mesh, in_specs=spec, out_specs=spec)

    return make(cube())


with contextlib.suppress(ImportError):
    import equinox as eqx

    class Layer(eqx.Module):
        weight: jax.Array
        name: str = eqx.field(static=True, default="layer")

        def __call__(self, x):
            return self.weight @ x  # <- equinox

    @held("self.weight", "self")
    def equinox_module():
        return Layer(cube())

    @held("self.weight", "self")
    def equinox_bound_method():
        return Layer(cube()).__call__

    @held("layers[0].weight", "layers")
    def equinox_module_in_a_closure():
        layers = [Layer(cube())]
        return lambda x: layers[0](x)

    @held("layer.weight", "layer")
    def equinox_jit_of_a_closure():
        layer = Layer(cube())
        return eqx.filter_jit(lambda x: layer(x))

    def equinox_jit_of_a_module():
        """This passes the module's arrays as arguments."""
        return eqx.filter_jit(Layer(cube()))
