"""What programs capture and embed of a casing, and what the package imports."""

import subprocess
import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxmeter
import vcjax
from tests.vcjax.common import captured_bytes, casing_of
from vcjax import problems


@pytest.fixture(scope="module")
def problem():
    return problems.rotating_ellipse(3)


@pytest.fixture(scope="module")
def casing(problem):
    return casing_of(problem, 3)


def test_an_evaluation_does_not_copy_the_field_to_the_host(casing, problem, monkeypatch):
    B = jnp.asarray(problem.B)
    expected = vcjax.external_field(casing, problem.B)

    def refuse(*_, **__):
        raise AssertionError("a JAX array was copied to the host")

    monkeypatch.setattr(type(B), "__array__", refuse)
    found = vcjax.external_field(casing, B)
    closure = jax.jit(lambda casing: vcjax.external_field(casing, B))(casing)
    monkeypatch.undo()
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(closure, expected, atol=1e-12)


@pytest.mark.filterwarnings("ignore::vcjax.UnresolvedWarning")  # too coarse for gradients
@pytest.mark.parametrize(
    "choose, prepare, tables, evaluations",
    [
        (vcjax.choose, vcjax.prepare, vcjax.tables, [vcjax.external_field]),
        (
            partial(vcjax.choose, gradient=True),
            vcjax.prepare_gradient,
            vcjax.gradient_tables,
            [vcjax.external_gradient],
        ),
        (
            vcjax.choose_off_surface,
            vcjax.prepare_off_surface,
            vcjax.off_surface_tables,
            [vcjax.field_at, vcjax.gradient_at],
        ),
    ],
    ids=["field", "gradient", "off the surface"],
)
def test_programs_capture_nothing_and_closures_capture_the_casing_to_the_byte(
    problem, choose, prepare, tables, evaluations
):
    rule = choose(problem.X, problem.B, 3, nfp=4, half_period=True)
    preparing = jax.make_jaxpr(lambda X, constants: prepare(rule, X, constants=constants))
    assert captured_bytes(preparing(problem.X, tables(rule))) == 0
    casing = prepare(rule, problem.X)
    # A casing has some tables twice, as the same arrays: count each array once.
    size = sum({id(leaf): leaf.nbytes for leaf in jax.tree.leaves(casing)}.values())
    for evaluate in evaluations:
        given = (problem.B, 1.1 * problem.X[0]) if len(evaluations) == 2 else (problem.B,)
        assert captured_bytes(jax.make_jaxpr(evaluate)(casing, *given)) == 0
        assert captured_bytes(jax.make_jaxpr(partial(evaluate, casing))(*given)) == size


def test_a_compiled_closure_embeds_the_casing_to_the_byte(casing, problem):
    closure = jaxmeter.measure(lambda B: vcjax.external_field(casing, B), problem.B, repeat=1)
    size = sum(leaf.nbytes for leaf in jax.tree.leaves(casing))
    assert closure.constants is not None
    assert closure.constants.captured_bytes == closure.constants.embedded_bytes == size


def test_importing_vcjax_imports_neither_problems_nor_wout_nor_jaxtyping():
    program = (
        "import sys, vcjax\n"
        "assert not {'vcjax.problems', 'vcjax.wout', 'jaxtyping'} & set(sys.modules)\n"
        "vcjax.problems.w7x, vcjax.wout.from_wout"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


def test_an_unknown_name_of_the_package_causes_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'vcjax' has no attribute 'probelms'"):
        vcjax.probelms  # noqa: B018  # pyright: ignore[reportAttributeAccessIssue]
