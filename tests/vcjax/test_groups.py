"""Groups of target rows that direct calls on CPUs evaluate in parallel."""

import os

import jax
import numpy as np
import pytest

import vcjax
from tests.vcjax.common import casing_of, small_torus
from vcjax import _groups

pytestmark = pytest.mark.filterwarnings("ignore::vcjax.VcjaxWarning")


@pytest.fixture(scope="module")
def problem():
    return small_torus(trg_shape=(5, 6))


@pytest.fixture(scope="module")
def casings(problem):
    """Return casings for fields, with stored and with recomputed weights, and for gradients."""
    casing = casing_of(problem, 3)
    streamed = vcjax.prepare(casing.rule, problem.X, near_weights="streamed")
    single = vcjax.prepare(casing.rule, problem.X, near_weights="float32")
    gradients = casing_of(problem, 3, vcjax.prepare_gradient)
    return {"float64": casing, "streamed": streamed, "float32": single, "gradient": gradients}


def use_processors(monkeypatch, count):
    monkeypatch.setattr(_groups, "processor_count", lambda: count)


@pytest.mark.parametrize("processors", [1, 2, 4])
@pytest.mark.parametrize("kind", ["float64", "streamed", "float32", "gradient"])
def test_groups_of_rows_give_the_numbers_of_one_program(
    casings, problem, monkeypatch, kind, processors
):
    casing = casings[kind]
    use_processors(monkeypatch, processors)
    rows = np.concatenate(_groups.row_groups(casing, problem.B))
    assert set(rows) == set(range(casing.rule.trg_shape[0]))
    evaluate = vcjax.external_gradient if kind == "gradient" else vcjax.external_field
    for function, given in ((evaluate, (casing, problem.B)), (vcjax.self_test, (casing,))):
        whole = np.asarray(jax.jit(function)(*given))
        parts = function(*given)
        assert isinstance(parts, jax.Array)
        rounding = (1e-11 if kind == "gradient" else 1e-12) * np.abs(problem.B).max()
        np.testing.assert_allclose(parts, whole, rtol=1e-9, atol=rounding)


def test_rows_are_one_program_inside_a_transformation_and_for_few_rows(
    casings, problem, monkeypatch
):
    casing = casings["float64"]
    use_processors(monkeypatch, 2)
    assert _groups.row_groups(casing, problem.B)
    seen = []
    jax.eval_shape(lambda B: seen.append(_groups.row_groups(casing, B)), problem.B)
    use_processors(monkeypatch, casing.rule.trg_shape[0] + 1)
    assert seen == [_groups.row_groups(casing, problem.B)] == [[]]


def test_other_threads_compile_nothing(casings, problem, monkeypatch):
    use_processors(monkeypatch, 2)
    vcjax.external_field(casings["float64"], problem.B)
    with jax.no_tracing(True):
        vcjax.external_field(casings["float64"], 2 * problem.B)


def test_a_default_device_is_used_by_all_groups(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(8), raising=False)
    assert _groups.processor_count() == 8
    with jax.default_device(jax.devices()[0]):
        assert _groups.processor_count() == 1
