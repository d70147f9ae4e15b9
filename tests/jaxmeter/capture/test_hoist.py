"""A hoisted function captures at most scalars, and returns the same answer, bit for bit."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxmeter
from jaxmeter import Case, JaxmeterError
from jaxmeter._program.program import describe_program
from tests.jaxmeter.capture.capture_situations import SITUATIONS as CAPTURED
from tests.jaxmeter.capture.capture_situations import measured

X = jnp.asarray([0.3, 0.7, 1.9])


def bits(answer):
    leaves, tree = jax.tree.flatten(answer)
    return tree, [(leaf.dtype, leaf.shape, np.asarray(leaf).tobytes()) for leaf in leaves]


@pytest.fixture(scope="module")
def answers():
    """Return the answers of all situations from one original and one hoisted program."""

    @jax.jit
    def original(x):
        return {name: situation.fn(x) for name, situation in CAPTURED.items()}

    @jax.jit
    def hoisted(constants, x):
        return {name: measured(name).hoisted(constants[name], x) for name in CAPTURED}

    return original(X), hoisted({name: dict(measured(name).held) for name in CAPTURED}, X)


@pytest.mark.cpu
@pytest.mark.parametrize("name", CAPTURED)
def test_a_hoisted_function_returns_the_same_bits_in_every_situation(name, answers):
    original, hoisted = answers
    assert bits(hoisted[name]) == bits(original[name])


@pytest.mark.parametrize("name", CAPTURED)
def test_a_hoisted_function_captures_only_scalars_in_every_situation(name):
    constants, audited = measured(name).held, measured(name).hoisted_audit
    assert [array.shape for array in audited.arrays if array.shape] == []
    # Scalars stay captured. Each other captured array becomes one constant.
    sizes = sorted(constant.nbytes for constant in constants.values())
    assert sizes == sorted(size for size in CAPTURED[name].captured if size > 8)


CUBE = jnp.asarray(np.random.default_rng(0).normal(size=(3, 3)))
MESH = jax.make_mesh((1,), ("rows",), axis_types=(jax.sharding.AxisType.Auto,))
ROWS = jax.sharding.PartitionSpec("rows")


@jax.jit
def inner(x):
    return jnp.tanh(CUBE @ x)


def scan(x):
    def step(carry, item):
        return (inner(carry[0]) + item, carry[1] + 1.0), inner(item)

    return jax.lax.scan(step, (x, 0.0), jnp.outer(x, x), reverse=True, unroll=2)


@jax.custom_jvp
def halved_derivative(x):
    return inner(x)


halved_derivative.defjvp(lambda primals, tangents: (inner(*primals), 0.5 * tangents[0]))


@jax.custom_vjp
def doubled_derivative(x):
    return inner(x)


doubled_derivative.defvjp(lambda x: (inner(x), None), lambda _, g: (2.0 * g,))


def everything(x):
    def step(carry, _):
        return jax.lax.cond(carry[0] > 0, jax.checkpoint(inner), halved_derivative, carry), None

    return jax.lax.scan(step, x, None, length=2)


# In each function, a nested jitted function captures the cube.
DEEP = {
    "while_loop": lambda x: jax.lax.while_loop(
        lambda y: inner(y).sum() < 2.0, lambda y: y + inner(y) ** 2, x
    ),
    "switch": lambda x: jax.lax.switch(2, [inner, lambda y: y, lambda y: inner(2.0 * y)], x),
    "grad_of_remat": jax.grad(jax.checkpoint(lambda y: inner(inner(y)).sum())),
    "custom_jvp": lambda x: halved_derivative(x),
    "custom_vjp": lambda x: doubled_derivative(x),
    "vmap_of_scan": lambda x: jax.vmap(lambda s: scan(s * x))(x),
    "shard_map": jax.shard_map(
        lambda y: inner(y) + jax.lax.psum(y, "rows"), mesh=MESH, in_specs=ROWS, out_specs=ROWS
    ),
    "everything": everything,
}


@pytest.mark.cpu
@pytest.mark.parametrize("name", DEEP)
def test_captures_of_a_jitted_function_are_hoisted_out_of_every_caller(name):
    hoisted, constants = jaxmeter.hoist(DEEP[name], X)
    assert list(constants) == ["CUBE"]
    assert bits(hoisted(constants, X)) == bits(jax.jit(DEEP[name])(X))
    assert jaxmeter.audit(hoisted, constants, X).captured_bytes == 0


@pytest.mark.parametrize("fn", [halved_derivative, doubled_derivative])
def test_rules_for_derivatives_are_kept(fn):
    hoisted, constants = jaxmeter.hoist(fn, X)
    derivative = jax.grad(lambda x: hoisted(constants, x).sum())(X)
    assert bits(derivative) == bits(jax.grad(lambda x: fn(x).sum())(X))


@pytest.mark.parametrize("fn", [halved_derivative, doubled_derivative])
def test_arrays_captured_by_custom_rules_can_be_mapped_over_but_not_differentiated(fn):
    hoisted, constants = jaxmeter.hoist(lambda x: fn(x).sum() + (CUBE @ x).sum(), X)
    with pytest.raises(
        jaxmeter.JaxmeterError, match=r"respect to the captured array float\d+\[3, 3\]: a"
    ):
        jax.grad(hoisted)(constants, X)
    stacked = jax.tree.map(lambda value: jnp.stack([value, value]), constants)
    answers = jax.vmap(hoisted, in_axes=(0, None))(stacked, X)
    assert bits(answers[0]) == bits(answers[1])


def test_hoisting_adds_only_the_jit_equation():
    def equations(fn, *args):
        return describe_program(jax.make_jaxpr(fn)(*args)).jaxpr_equations_count

    hoisted, constants = jaxmeter.hoist(scan, X)
    assert equations(hoisted, constants, X) == (equations(scan, X) or 0) + 1


def test_constants_can_be_differentiated_and_mapped_over():
    hoisted, constants = jaxmeter.hoist(lambda x: (CUBE @ x).sum(), X)
    gradient = jax.grad(hoisted)(constants, X)
    np.testing.assert_array_equal(gradient["CUBE"], jnp.broadcast_to(X, (3, 3)))
    stacked = {"CUBE": jnp.stack([CUBE, 2.0 * CUBE])}
    answers = jax.vmap(hoisted, in_axes=(0, None))(stacked, X)
    np.testing.assert_allclose(answers[1], 2.0 * answers[0])


def test_arguments_and_answers_keep_their_structure():
    def step(state, *, scale):
        return {"state": (scale * state["a"], None), "cube": CUBE @ state["b"]}

    state = {"a": 2.0, "b": X}
    hoisted, constants = jaxmeter.hoist(step, state, scale=3.0)
    answer = hoisted(constants, state, scale=3.0)
    assert bits(answer) == bits(jax.jit(step)(state, scale=3.0))
    assert answer["state"][1] is None


def test_several_views_of_one_array_are_hoisted_separately():
    host = np.arange(12.0)
    step = lambda x: x * host[:3] + host[3:6]  # noqa: E731
    hoisted, constants = jaxmeter.hoist(step, X)
    assert list(constants) == ["host", "host 0"]
    assert bits(hoisted(constants, X)) == bits(jax.jit(step)(X))


def test_a_hoisted_function_donates_the_same_arguments_and_more_donations_can_be_added():
    hoisted: Any
    donating = jax.jit(lambda n, x: inner(x) + n, donate_argnums=1)
    hoisted, constants = jaxmeter.hoist(donating, 1.0, X)
    assert donated(hoisted.lower(constants, 1.0, X)) == [False, False, True]
    case = Case(lambda x: CUBE @ x, (X,), {}, {"donate_argnums": 0})
    hoisted, constants = jaxmeter.hoist(case)
    assert donated(hoisted.lower(constants, X)) == [False, True]
    hoisted, constants = jaxmeter.hoist(inner, X)
    assert donated(hoisted.lower(constants, X)) == [False, False]
    again = jax.jit(hoisted, donate_argnums=1)
    assert donated(again.lower(constants, X)) == [False, True]


def donated(lowered):
    is_leaf = lambda leaf: hasattr(leaf, "donated")  # noqa: E731
    return [leaf.donated for leaf in jax.tree.leaves(lowered.args_info, is_leaf=is_leaf)]


def test_a_hoisted_function_keeps_its_shardings():
    hoisted: Any
    sharding = jax.sharding.NamedSharding(MESH, ROWS)
    sharded = jax.jit(lambda x: inner(x), in_shardings=sharding, out_shardings=sharding)
    hoisted, constants = jaxmeter.hoist(sharded, X)
    assert hoisted(constants, X).sharding.is_equivalent_to(sharding, 1)
    text = str(hoisted.trace(constants, X).jaxpr)
    assert text.count("NamedSharding") == str(jax.make_jaxpr(sharded)(X)).count("NamedSharding") > 0


def test_an_array_captured_inside_an_unsupported_primitive_is_refused_by_its_name():
    def solve(x):
        return jax.lax.custom_linear_solve(lambda y: inner(y), x, lambda _, b: b)

    hoisted, constants = jaxmeter.hoist(solve, X)
    with pytest.raises(JaxmeterError, match="captured inside custom_linear_solve"):
        hoisted(constants, X)


def test_a_call_with_other_arguments_than_those_of_hoist_is_an_error_that_names_the_argument():
    def step(params, x):
        return inner(params["w"]) + x

    hoisted, constants = jaxmeter.hoist(step, {"w": X}, X)
    for args, kwargs, message in (
        (({"w": X[:2]}, X), {}, r"shape of params\['w'\]: \(3,\) -> \(2,\); call jaxmeter.hoist"),
        (({"w": X, "b": X}, X), {}, r"structure of params\['b'\]: nothing -> float64\[3\]"),
        (({"w": X},), {"x": X}, "form of x: by position -> by keyword"),
        (({"w": X}, X), {"y": X}, "form of y: left out -> by keyword"),
        (({"w": X}, X, X), {}, r"form of args\[0\]: left out -> by position"),
    ):
        with pytest.raises(
            JaxmeterError, match=f"^step: got other arguments than jaxmeter.hoist: {message}"
        ):
            hoisted(constants, *args, **kwargs)


def test_an_array_in_place_of_a_static_tuple_is_refused_by_name():
    scaled = jax.jit(lambda x, size: (CUBE @ x) * size[0], static_argnums=1)
    hoisted, constants = jaxmeter.hoist(scaled, X, (2, 3))
    hoisted(constants, X, (2, 3))
    with pytest.raises(JaxmeterError, match=r"static value of size: \(2, 3\) -> float64\[3\]"):
        hoisted(constants, X, X)


def test_a_partial_with_static_arguments_is_hoisted():
    power = jax.jit(lambda x, n: (CUBE @ x) ** n, static_argnums=1)
    hoisted, constants = jaxmeter.hoist(functools.partial(power, n=2), X)
    assert list(constants) == ["CUBE"]
    assert bits(hoisted(constants, X)) == bits(power(X, 2))
