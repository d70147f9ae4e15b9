"""Programs that capture arrays, each with the paths and bytes known by construction.

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
MESH = jax.make_mesh((1,), ("rows",), axis_types=(jax.sharding.AxisType.Auto,))
ROWS = jax.sharding.PartitionSpec("rows")

BYTES = {"CUBE": 64 * 3 * 8, "HOST": 64 * 3 * 8, "OTHER": 7 * 3 * 8, "SMALL": 5 * 8, "EQUAL": 240}
BYTES |= {"partial argument cube": 64 * 3 * 8, "SCALAR": 8, "MASK": 12, "KEY": 8, "": 24}


@dataclass(frozen=True)
class Situation:
    """A program, with the paths and bytes of its captured, embedded and hidden arrays."""

    fn: Callable[..., Any]
    paths: tuple[str, ...]
    captured: tuple[int, ...]
    """Bytes of each captured array, in the order of the paths."""
    embedded: tuple[int, ...]
    hidden: tuple[int, ...]
    """Bytes with simplified constants: only arrays of up to 32 bytes stay embedded."""
    match: str
    """How the last array matches the object at its path."""


def captures(fn, paths=("CUBE",), *, sizes=None, embedded=None, hidden=None, match="same"):
    """Return a situation; by default each array is embedded once, or is one hidden argument."""
    captured = sizes or tuple(BYTES[path] for path in paths)
    embedded = captured if embedded is None else embedded
    large = tuple(size for size in embedded if size > 32)
    return Situation(fn, paths, captured, embedded, large if hidden is None else hidden, match)


@jax.custom_vjp
def _custom_vjp(x):
    return (CUBE @ x).sum()  # <- CUBE


_custom_vjp.defvjp(lambda x: (_custom_vjp(x), x), lambda x, g: (g * CUBE.sum(0),))


@jax.custom_jvp
def _custom_jvp(x):
    return (CUBE @ x).sum()  # <- CUBE


_custom_jvp.defjvp(lambda primals, tangents: (_custom_jvp(*primals), tangents[0].sum()))


def _nested_jit_called_twice(x):
    inner = jax.jit(lambda y: CUBE @ y)  # <- CUBE
    return inner(x) + inner(2.0 * x)


def _jit_in_scan(x):
    step = jax.jit(lambda c: c + CUBE.sum(0))  # <- CUBE
    return jax.lax.scan(lambda c, _: (step(c), None), x, None, length=3)


def _scan(x):
    return jax.lax.scan(lambda c, _: (c + CUBE.sum(0) * x, None), jnp.zeros(3), length=2)  # <- CUBE


def _in_shard_map(x):
    product = lambda y: CUBE @ y  # <- CUBE  # noqa: E731
    return jax.shard_map(product, mesh=MESH, in_specs=ROWS, out_specs=ROWS)(x)


def _returned(x):  # <- CUBE
    return CUBE, x


TWICE = (BYTES["CUBE"],) * 2

SITUATIONS = {
    "nothing": captures(lambda x: 2.5 * x + jnp.zeros(3) + jnp.arange(3.0), ()),
    "closure": captures(lambda x: CUBE @ x),  # <- CUBE
    # JAX makes a hidden argument for each use within one jaxpr.
    "same_array_twice": captures(
        lambda x: (CUBE @ x).sum() + (CUBE * x).sum(),  # <- CUBE
        hidden=TWICE,
    ),
    "two_arrays": captures(
        lambda x: (CUBE @ x).sum() + (OTHER @ x).sum(),  # <- CUBE and OTHER
        ("CUBE", "OTHER"),
    ),
    "numpy_array": captures(lambda x: HOST @ x, ("HOST",)),  # <- HOST
    "numpy_array_twice": captures(
        lambda x: (HOST @ x).sum() + (jnp.asarray(HOST) * x).sum(),  # <- HOST
        ("HOST",),
        hidden=TWICE,
    ),
    "numpy_array_also_in_nested_jit": captures(
        lambda x: jax.jit(lambda y: HOST @ y)(x).sum() + (HOST @ x).sum(),  # <- HOST
        ("HOST",),
        embedded=TWICE,
    ),
    "numpy_array_and_a_view_of_it": captures(
        lambda x: (HOST @ x).sum() + (HOST[:7] @ x).sum(),  # <- HOST
        ("HOST", "HOST"),
        sizes=(BYTES["HOST"], BYTES["OTHER"]),
        match="view",
    ),
    "nested_jit": captures(lambda x: 2.0 * jax.jit(lambda y: CUBE @ y)(x)),  # <- CUBE
    "directly_and_in_nested_jit": captures(
        lambda x: jax.jit(lambda y: CUBE @ y)(x) + CUBE @ x,  # <- CUBE
        embedded=TWICE,
    ),
    "nested_jit_called_twice": captures(_nested_jit_called_twice),
    "scan_body": captures(
        lambda x: jax.lax.scan(lambda c, _: (c + CUBE.sum(0) * x, None), x, length=3),  # <- CUBE
    ),
    "scan_over": captures(
        lambda x: jax.lax.scan(lambda c, row: (c + row * x, None), x, CUBE),  # <- CUBE
    ),
    "jit_in_scan": captures(_jit_in_scan),
    "cond_branches": captures(
        lambda x: jax.lax.cond(x[0] > 0, lambda y: CUBE @ y, lambda y: CUBE @ -y, x),  # <- CUBE
    ),
    "while_loop": captures(
        lambda x: jax.lax.while_loop(
            lambda y: (y + SMALL[:3]).sum() < 10.0,  # <- SMALL
            lambda y: y + jnp.abs(CUBE).sum(0),  # <- CUBE
            x,
        ),
        ("SMALL", "CUBE"),
    ),
    "fori_loop": captures(
        lambda x: jax.lax.fori_loop(0, 3, lambda i, y: y + CUBE[i], x),  # <- CUBE
    ),
    "grad_of_nested_jit": captures(
        lambda x: jax.grad(jax.jit(lambda y: (CUBE @ y).sum()))(x),  # <- CUBE
    ),
    "jvp_of_nested_jit": captures(
        lambda x: jax.jvp(jax.jit(lambda y: jnp.sin(CUBE @ y)), (x,), (x,)),  # <- CUBE
    ),
    "custom_vjp": captures(lambda x: _custom_vjp(x)),
    # JAX reports the equations of the backward rule at the line that calls the function.
    "grad_of_custom_vjp": captures(lambda x: jax.grad(_custom_vjp)(x)),  # <- CUBE
    "custom_jvp": captures(lambda x: _custom_jvp(x)),
    "remat": captures(lambda x: jax.checkpoint(lambda y: jnp.sin(CUBE @ y).sum())(x)),  # <- CUBE
    "grad_of_remat": captures(
        lambda x: jax.grad(jax.checkpoint(lambda y: jnp.sin(CUBE @ y).sum()))(x),  # <- CUBE
    ),
    "vmap": captures(lambda x: jax.vmap(lambda s: CUBE @ (s * jnp.ones(3)))(x)),  # <- CUBE
    "vmap_of_scan": captures(lambda x: jax.vmap(_scan)(x)),
    "in_shard_map": captures(_in_shard_map),
    "small_array": captures(lambda x: SMALL[:3] * x, ("SMALL",)),  # <- SMALL
    "made_from_a_list": captures(
        lambda x: jnp.array([1.0, 2.0, 3.0]) * x,  # <- made here
        ("",),
        match="unknown",
    ),
    "booleans": captures(lambda x: jnp.where(MASK, x[0], x[1]), ("MASK",)),  # <- MASK
    "scalar_array": captures(lambda x: SCALAR * x, ("SCALAR",), embedded=()),  # <- SCALAR
    "equal_elements": captures(
        lambda x: EQUAL + x,  # <- EQUAL
        ("EQUAL",),
        embedded=(),
        hidden=(240,),
    ),
    # On CPUs, JAX's random generator embeds two tables of four 32-bit words.
    "random_key": captures(
        lambda x: jax.random.uniform(KEY, (3,)) + x,  # <- KEY
        ("KEY",),
        embedded=(8, 16, 16) if jax.default_backend() == "cpu" else (8,),
    ),
    "returned": captures(_returned),
    "used_for_nothing": captures(lambda x: (CUBE * 2.0, x)[1], embedded=()),  # <- CUBE
    "partial": captures(
        functools.partial(lambda cube, x: cube @ x, CUBE),  # <- partial argument cube
        ("partial argument cube",),
    ),
    "passed_on_as_argument": captures(
        lambda x: jax.jit(lambda cube, y: cube @ y)(jnp.outer(x, x), x), ()
    ),
}

MARK = re.compile(r"# <- ([^#]*[^#\s])")


def marked_lines(name: str) -> dict[str, set[int]]:
    """Return the lines of a situation that are marked to use an array, by the array's path."""
    text = Path(__file__).read_text()
    body = ast.parse(text).body
    tables = [n.value for n in body if isinstance(n, ast.Assign) and isinstance(n.value, ast.Dict)]
    (entry,) = (
        value
        for table in tables
        for key, value in zip(table.keys, table.values, strict=True)
        if isinstance(key, ast.Constant) and key.value == name
    )
    named = {node.id for node in ast.walk(entry) if isinstance(node, ast.Name)}
    functions = (n for n in body if isinstance(n, ast.FunctionDef) and n.name in named)
    found: dict[str, set[int]] = defaultdict(set)
    for node in (entry, *functions):
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1):
            mark = MARK.search(text.splitlines()[number - 1])
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
