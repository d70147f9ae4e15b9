"""Training steps jitted by equinox and flax nnx, jitted methods, and leaves that are not arrays."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxmeter
from jaxmeter import Case
from jaxmeter._pytest.metered import Metered

HOST = np.random.default_rng(0).normal(size=(8, 8))
TABLE = jnp.asarray(HOST)
X = jnp.ones(8)


def loss_of(weight, activation, x):
    return activation(TABLE @ (weight * x)).sum()  # <- the one captured array


def with_equinox():
    """Return a step, and a function that makes its arguments: an array, and a model.

    One leaf of the model is a function.
    """
    eqx = pytest.importorskip("equinox")

    class Model(eqx.Module):
        weight: jax.Array
        activation: Any

        @eqx.filter_jit
        def __call__(self, x):
            return self.activation(self.weight * x)

    @eqx.filter_jit(donate="all-except-first")
    def step(x, model):
        value, gradient = eqx.filter_value_and_grad(
            lambda model: loss_of(model.weight, model.activation, x)
        )(model)
        return eqx.apply_updates(model, gradient), value

    return step, lambda: (X, Model(jnp.arange(8.0), jnp.tanh))


def with_nnx():
    """Return a step that changes its model, and a function that makes the step's arguments."""
    nnx = pytest.importorskip("flax.nnx")

    class Model(nnx.Module):
        def __init__(self):
            self.weight = nnx.Param(jnp.arange(8.0))
            self.activation = jnp.tanh

        @nnx.jit
        def __call__(self, x):
            return self.activation(self.weight[...] * x)

    @nnx.jit
    def step(x, model):
        def loss(model):
            return loss_of(model.weight[...], model.activation, x)

        value, gradient = nnx.value_and_grad(loss)(model)
        model.weight[...] += gradient.weight[...]
        return value

    return step, lambda: (X, Model())


@pytest.fixture(params=[with_equinox, with_nnx])
def training(request):
    return request.param()


def test_a_step_captures_the_global_table_and_not_its_model(training):
    step, arguments = training
    (array,) = jaxmeter.audit(step, *arguments(), threshold_bytes=100).arrays
    assert (array.path, array.bytes, array.verdict) == ("TABLE", TABLE.nbytes, "large")
    assert [use.text for use in array.uses][:1] == [
        "return activation(TABLE @ (weight * x)).sum()  # <- the one captured array"
    ]
    shapes = jax.ShapeDtypeStruct(X.shape, X.dtype), arguments()[1]
    assert jaxmeter.audit(step, *shapes).captured_bytes == TABLE.nbytes


def test_measure_inventory_and_memory_report_the_same_program_of_a_step(training):
    step, arguments = training
    record = jaxmeter.measure(step, *arguments(), repeat=3)
    assert (record.status, record.name, len(record.samples_seconds)) == ("ok", "step", 3)
    assert (record.counts.traces_count, record.counts.compiles_count) == (1, 1)
    assert record.constants.captured_bytes == TABLE.nbytes
    found = jaxmeter.inventory(step, *arguments())
    assert found.memory.argument_bytes == record.memory.argument_bytes
    assert found.memory.alias_bytes == record.memory.alias_bytes
    assert found.program == record.program
    assert jaxmeter.memory(step, *arguments(), run=False).memory.temp_bytes == (
        record.memory.temp_bytes
    )


def test_the_pytest_fixture_counts_one_trace_for_each_shape(training):
    step, arguments = training
    metered = Metered(Case(step, arguments()))
    assert (metered.name, metered.captured_bytes, metered.traces) == ("step", TABLE.nbytes, 1)
    metered.again(*arguments())
    assert metered.traces == 1
    metered.again(jnp.ones((8, 1)), arguments()[1])
    assert metered.traces == metered.compiles == 2
    assert "(8,) -> (8, 1)" in metered.traces.explain()


def test_a_hoisted_step_returns_the_same_answer_and_changes_its_model_alike(training):
    step, arguments = training
    hoisted, constants = jaxmeter.hoist(step, *arguments())
    assert list(constants) == ["TABLE"]
    given, wanted, doubled = arguments(), arguments(), arguments()
    found = arrays(hoisted(constants, *given), given)
    for one, other in zip(found, arrays(step(*wanted), wanted), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    more = arrays(hoisted({"TABLE": 2.0 * TABLE}, *doubled), doubled)
    assert not all(np.allclose(one, other) for one, other in zip(found, more, strict=True))


def arrays(answer, args):
    """Return the arrays of an answer and of the call's arguments, without donated arrays."""
    leaves = [leaf for leaf in jax.tree.leaves((answer, args)) if isinstance(leaf, jax.Array)]
    return [np.asarray(leaf) for leaf in leaves if not leaf.is_deleted()]


def test_a_watch_names_the_arguments_of_the_step_and_not_those_of_the_library(training):
    step, arguments = training
    with jaxmeter.watch() as watched:
        step(*arguments())
        step(jnp.ones((8, 1)), arguments()[1])
    (seen,) = (one for one in watched.report.functions if one.name == "step")
    assert seen.traces_count == seen.compiles_count == 2
    assert str(seen.causes[0]) == "shape of x: (8,) -> (8, 1)"
    assert seen.defined.startswith(__file__)


def test_an_object_that_jits_its_own_call_passes_its_arrays_as_arguments(training):
    _, arguments = training
    model = arguments()[1]
    for call in (model, model.__call__):
        audited = jaxmeter.audit(call, X)
        assert (audited.captured_bytes, audited.embedded_bytes) == (0, 0)
        assert Metered(Case(call, (X,))).argument_bytes == 2 * X.nbytes
    report = jaxmeter.retraces(model, [(X,), (X,), (jnp.ones(()),)])
    assert [call.traces_count for call in report.calls] == [1, 0, 1]


class Solver:
    """A class with a jitted method that has a static ``self``, as in JAX's FAQ."""

    def __init__(self):
        self.weight = TABLE

    @functools.partial(jax.jit, static_argnums=0)
    def solve(self, x):
        return self.weight @ x


def test_a_method_with_a_static_self_captures_the_arrays_of_its_object():
    solver = Solver()
    for fn, args, path in ((solver.solve, (X,), "self.weight"), (Solver.solve, (solver, X), None)):
        (array,) = jaxmeter.audit(fn, *args, threshold_bytes=100).arrays
        assert (array.bytes, array.verdict) == (TABLE.nbytes, "large")
        hoisted, constants = jaxmeter.hoist(fn, *args)
        assert list(constants) == [array.path] == [path or array.path]
        np.testing.assert_allclose(hoisted(constants, *args), TABLE @ X)
    assert jaxmeter.measure(solver.solve, X, repeat=1).status == "ok"
    report = jaxmeter.retraces(solver.solve, [(X,), (X,), (jnp.ones((8, 2)),)])
    assert [call.traces_count for call in report.calls] == [1, 0, 1]
    assert str(report.calls[2].causes[0]) == "shape of x: (8,) -> (8, 2)"
    assert Metered(Case(solver.solve, (X,))).captured_bytes == TABLE.nbytes


def test_a_partial_of_a_jitted_function_passes_its_array_unless_it_is_jitted_again():
    product = jax.jit(lambda table, x: table @ x)
    assert jaxmeter.audit(functools.partial(product, TABLE), X).captured_bytes == 0
    again = Case(functools.partial(product, TABLE), (X,), jit_options={"inline": False})
    assert jaxmeter.audit(again).captured_bytes == TABLE.nbytes


def test_leaves_that_are_not_arrays_are_static_if_the_function_is_not_jitted():
    def step(model, mode, x):
        scale = 2.0 if mode == "double" else 1.0
        return {"model": model, "x": model["activation"](scale * x)}

    model = {"activation": jnp.tanh, "weight": X}
    record = jaxmeter.measure(step, model, "double", X, repeat=1)
    assert (record.counts.traces_count, record.memory.argument_bytes) == (1, X.nbytes * 2)
    hoisted, _ = jaxmeter.hoist(step, model, "double", X)
    answer = hoisted({}, model, "double", X)
    assert answer["model"]["activation"] is jnp.tanh
    np.testing.assert_allclose(answer["x"], np.tanh(2.0 * np.ones(8)))
    with pytest.raises(jaxmeter.JaxmeterError, match="of mode: 'double' -> 'single'"):
        hoisted({}, model, "single", X)
