"""Programs that capture arrays, each with the truth known by construction.

A mark at the end of a line, ``# <- CUBE``, says that the line uses the array at this path.
"""

import ast
import functools
import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxmeter
from jaxmeter._capture.constants import count_constants

HOST = np.random.default_rng(0).normal(size=(64, 3))
CUBE = jnp.asarray(HOST)
OTHER = jnp.asarray(HOST[:7])
SMALL = jnp.arange(5.0)
EQUAL = jnp.full((10, 3), 2.5)
SCALAR = jnp.asarray(3.25, jnp.float64)
MASK = jnp.asarray(np.arange(12) % 3 == 0)
KEY = jax.random.key(7)
X = jnp.ones(3)

CUBE_BYTES = 64 * 3 * 8
OTHER_BYTES = 7 * 3 * 8
SMALL_BYTES = 5 * 8


@dataclass(frozen=True)
class Situation:
    """A program, the bytes of each array in it, in any order, and who holds those captured."""

    fn: Callable[..., Any]
    captured: tuple[int, ...]
    embedded: tuple[int, ...]
    hidden: tuple[int, ...] = ()
    """In simplified mode, where arrays of up to 32 bytes stay embedded and all others do not."""
    paths: tuple[str, ...] = ("CUBE",)
    """In the order of ``captured``; by default for as many arrays as there are."""
    match: str = "same"
    """How the last array matches what is at its path."""
    places: tuple[str, ...] = ()
    """The functions and classes, besides that of the situation's name, whose marks count."""

    def __post_init__(self):
        object.__setattr__(self, "paths", self.paths[: len(self.captured)])


SITUATIONS: dict[str, Situation] = {}


def situation(**truth):
    def add(fn):
        SITUATIONS[fn.__name__] = Situation(fn, **NOTHING | truth)
        return fn

    return add


NOTHING: dict[str, Any] = dict(captured=(), embedded=())
ONCE: dict[str, Any] = dict(captured=(CUBE_BYTES,), embedded=(CUBE_BYTES,), hidden=(CUBE_BYTES,))
TWICE: dict[str, Any] = dict(
    captured=(CUBE_BYTES,), embedded=(CUBE_BYTES,) * 2, hidden=(CUBE_BYTES,) * 2
)


@situation()
def nothing(x):
    return 2.5 * x + jnp.zeros(3) + jnp.arange(3.0)


@situation(**ONCE)
def closure(x):
    return CUBE @ x  # <- CUBE


# JAX makes a hidden argument for each use within one jaxpr.
@situation(captured=(CUBE_BYTES,), embedded=(CUBE_BYTES,), hidden=(CUBE_BYTES,) * 2)
def same_array_twice(x):
    return (CUBE @ x).sum() + (CUBE * x).sum()  # <- CUBE


@situation(
    captured=(CUBE_BYTES, OTHER_BYTES),
    embedded=(CUBE_BYTES, OTHER_BYTES),
    hidden=(CUBE_BYTES, OTHER_BYTES),
    paths=("CUBE", "OTHER"),
)
def two_arrays(x):
    return (CUBE @ x).sum() + (OTHER @ x).sum()  # <- CUBE and OTHER


@situation(**ONCE, paths=("HOST",))
def numpy_array(x):
    return HOST @ x  # <- HOST


@situation(
    captured=(CUBE_BYTES,), embedded=(CUBE_BYTES,), hidden=(CUBE_BYTES,) * 2, paths=("HOST",)
)
def numpy_array_twice(x):
    return (HOST @ x).sum() + (jnp.asarray(HOST) * x).sum()  # <- HOST


@situation(**TWICE, paths=("HOST",))
def numpy_array_also_in_nested_jit(x):
    return jax.jit(lambda y: HOST @ y)(x).sum() + (HOST @ x).sum()  # <- HOST


@situation(
    captured=(CUBE_BYTES, OTHER_BYTES),
    embedded=(CUBE_BYTES, OTHER_BYTES),
    hidden=(CUBE_BYTES, OTHER_BYTES),
    paths=("HOST", "HOST"),
    match="view",
)
def numpy_array_and_a_view_of_it(x):
    return (HOST @ x).sum() + (HOST[:7] @ x).sum()  # <- HOST


@situation(**ONCE)
def nested_jit(x):
    return 2.0 * jax.jit(lambda y: CUBE @ y)(x)  # <- CUBE


@situation(**ONCE)
def jit_in_jit_in_jit(x):
    return jax.jit(lambda z: 2.0 * jax.jit(lambda y: CUBE @ y)(z))(x)  # <- CUBE


@situation(**TWICE)
def directly_and_in_nested_jit(x):
    return jax.jit(lambda y: CUBE @ y)(x) + CUBE @ x  # <- CUBE


@situation(**ONCE)
def nested_jit_called_twice(x):
    inner = jax.jit(lambda y: CUBE @ y)  # <- CUBE
    return inner(x) + inner(2.0 * x)


@situation(**ONCE)
def scan_body(x):
    return jax.lax.scan(lambda c, _: (c + CUBE.sum(0) * x, None), x, None, length=3)  # <- CUBE


@situation(**ONCE)
def scan_over(x):
    return jax.lax.scan(lambda c, row: (c + row * x, None), x, CUBE)  # <- CUBE


@situation(**ONCE)
def jit_in_scan(x):
    step = jax.jit(lambda c: c + CUBE.sum(0))  # <- CUBE
    return jax.lax.scan(lambda c, _: (step(c), None), x, None, length=3)


@situation(**ONCE)
def cond_branches(x):
    return jax.lax.cond(x[0] > 0, lambda y: CUBE @ y, lambda y: 2.0 * (CUBE @ y), x)  # <- CUBE


@situation(**ONCE)
def switch_branches(x):
    branches = [
        lambda y: CUBE @ y,  # <- CUBE
        lambda y: CUBE @ (y + 1.0),  # <- CUBE
        lambda y: CUBE @ (2.0 * y),  # <- CUBE
    ]
    return jax.lax.switch(x[0].astype(int), branches, x)


@situation(
    captured=(SMALL_BYTES, CUBE_BYTES),
    embedded=(SMALL_BYTES, CUBE_BYTES),
    hidden=(SMALL_BYTES, CUBE_BYTES),
    paths=("SMALL", "CUBE"),
)
def while_loop(x):
    return jax.lax.while_loop(
        lambda y: (y + SMALL[:3]).sum() < 10.0,  # <- SMALL
        lambda y: y + jnp.abs(CUBE).sum(0),  # <- CUBE
        x,
    )


@situation(**ONCE)
def fori_loop(x):
    return jax.lax.fori_loop(0, 3, lambda i, y: y + CUBE[i], x)  # <- CUBE


@situation(**ONCE)
def grad_of_nested_jit(x):
    return jax.grad(jax.jit(lambda y: (CUBE @ y).sum()))(x)  # <- CUBE


@situation(**ONCE)
def jvp_of_nested_jit(x):
    return jax.jvp(jax.jit(lambda y: jnp.sin(CUBE @ y)), (x,), (x,))  # <- CUBE


@jax.custom_vjp
def _custom_vjp(x):
    return (CUBE @ x).sum()  # <- CUBE


_custom_vjp.defvjp(lambda x: (_custom_vjp(x), x), lambda x, g: (g * CUBE.sum(0),))


@situation(**ONCE, places=("_custom_vjp",))
def custom_vjp(x):
    return _custom_vjp(x)


@situation(**ONCE, places=("_custom_vjp",))
def grad_of_custom_vjp(x):
    # To JAX the equations of the backward rule are at the line that is differentiated.
    return jax.grad(_custom_vjp)(x)  # <- CUBE


@jax.custom_jvp
def _custom_jvp(x):
    return (CUBE @ x).sum()  # <- CUBE


_custom_jvp.defjvp(lambda primals, tangents: (_custom_jvp(*primals), tangents[0].sum()))


@situation(**ONCE, places=("_custom_jvp",))
def custom_jvp(x):
    return _custom_jvp(x)


@situation(**ONCE)
def remat(x):
    return jax.checkpoint(lambda y: jnp.sin(CUBE @ y).sum())(x)  # <- CUBE


@situation(**ONCE)
def grad_of_remat(x):
    return jax.grad(jax.checkpoint(lambda y: jnp.sin(CUBE @ y).sum()))(x)  # <- CUBE


@situation(**ONCE)
def vmap(x):
    return jax.vmap(lambda s: CUBE @ (s * jnp.ones(3)))(x)  # <- CUBE


@situation(**ONCE)
def vmap_of_scan(x):
    def run(s):
        def step(c, _):
            return c + CUBE.sum(0) * s, None  # <- CUBE

        return jax.lax.scan(step, jnp.zeros(3), None, length=2)

    return jax.vmap(run)(x)


@situation(
    captured=(SMALL_BYTES,),
    embedded=(SMALL_BYTES,),
    hidden=(SMALL_BYTES,),
    paths=("SMALL",),
)
def small_array(x):
    return SMALL[:3] * x  # <- SMALL


@situation(captured=(24,), embedded=(24,), paths=("",), match="unknown")
def made_from_a_list(x):
    return jnp.array([1.0, 2.0, 3.0]) * x  # <- made here


@situation(captured=(12,), embedded=(12,), paths=("MASK",))
def booleans(x):
    return jnp.where(MASK, x[0], x[1])  # <- MASK


@situation(captured=(8,), embedded=(), paths=("SCALAR",))
def scalar_array(x):
    return SCALAR * x  # <- SCALAR


@situation(captured=(240,), embedded=(), hidden=(240,), paths=("EQUAL",))
def equal_elements(x):
    return EQUAL + x  # <- EQUAL


# The two tables of four 32-bit words are of JAX's own random generator.
@situation(captured=(8,), embedded=(8, 16, 16), paths=("KEY",))
def random_key(x):
    return jax.random.uniform(KEY, (3,)) + x  # <- KEY


@situation(**ONCE)
def returned(x):  # <- CUBE
    return CUBE, x


@situation(**ONCE)
def returned_by_nested_jit(x):
    return jax.jit(lambda y: (CUBE, y))(x)  # <- CUBE


@situation(captured=(CUBE_BYTES,), embedded=())
def used_for_nothing(x):
    _ = CUBE * 2.0  # <- CUBE
    return x


def _takes_two(cube, x):
    return cube @ x  # <- partial argument cube


SITUATIONS["partial"] = Situation(
    functools.partial(_takes_two, CUBE),
    **ONCE,
    paths=("partial argument cube",),
    places=("_takes_two",),
)


@situation()
def passed_on_as_argument(x):
    return jax.jit(_takes_two)(jnp.outer(x, x), x)


_MARK = re.compile(r"# <- ([^#]*[^#\s])")


def marked_lines(name: str) -> dict[str, set[int]]:
    """Return the lines of a situation that are marked to use an array, by the array's path."""
    text = Path(__file__).read_text()
    found: dict[str, set[int]] = defaultdict(set)
    for node in ast.parse(text).body:
        named = getattr(node, "name", None) or ast.unparse(node).partition("(")[0]
        if named in (name, *SITUATIONS[name].places):
            for number in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                mark = _MARK.search(text.splitlines()[number - 1])
                for path in mark[1].split(" and ") if mark else ():
                    found["" if path == "made here" else path].add(number)
    return found


@dataclass(frozen=True)
class Measured:
    """The constants and audits of a situation, as jaxmeter reports them."""

    constants: jaxmeter.Constants
    audit: jaxmeter.Audit
    hoisted: Callable[..., Any]
    held: Mapping[str, jax.Array]
    """The constants that the hoisted function takes."""
    hoisted_audit: jaxmeter.Audit


@functools.cache
def measured(name: str) -> Measured:
    """Measure a situation, once in a process."""
    fn = SITUATIONS[name].fn
    traced = jax.jit(fn).trace(X)
    constants = count_constants(traced.jaxpr, traced.lower())
    hoisted, held = jaxmeter.hoist(fn, X)
    return Measured(
        constants, jaxmeter.audit(fn, X), hoisted, held, jaxmeter.audit(hoisted, held, X)
    )
