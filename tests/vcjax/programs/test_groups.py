"""Groups of targets that direct calls on CPUs evaluate in parallel."""

import contextlib
import dataclasses
import subprocess
import sys

import jax
import numpy as np
import pytest

import jaxmeter
import vcjax
from tests.vcjax.common import casing_of, rule_of, small_torus
from vcjax._programs import groups

pytestmark = pytest.mark.filterwarnings("ignore::vcjax.VcjaxWarning")


@pytest.fixture(scope="module")
def problem():
    return small_torus(trg_shape=(5, 6))


@pytest.fixture(scope="module")
def casings(problem):
    """Return casings for fields, by the storage of their weights, and a casing for gradients."""
    casing = casing_of(problem, 3)
    streamed = vcjax.prepare(casing.rule, problem.X, near_weights="streamed")
    single = vcjax.prepare(casing.rule, problem.X, near_weights="float32")
    gradients = casing_of(problem, 3, vcjax.prepare_gradient)
    return {"float64": casing, "streamed": streamed, "float32": single, "gradient": gradients}


def use_processors(monkeypatch, count):
    monkeypatch.setattr(groups, "processor_count", lambda: count)


def groups_of(casing, *values):
    return groups.row_groups(casing.rule, casing.devices, casing, *values)


@pytest.mark.cpu
@pytest.mark.parametrize("processors", [1, 2, 8])
@pytest.mark.parametrize("kind", ["float64", "streamed", "float32", "gradient"])
def test_groups_of_rows_give_the_numbers_of_one_program(
    casings, problem, monkeypatch, kind, processors
):
    casing = casings[kind]
    use_processors(monkeypatch, processors)
    rows = casing.rule.trg_shape[0]
    assert groups_of(casing, problem.B) == (rows, -(-rows // processors))
    evaluate = vcjax.external_gradient if kind == "gradient" else vcjax.external_field
    for function, given in ((evaluate, (casing, problem.B)), (vcjax.self_test, (casing,))):
        whole = np.asarray(jax.jit(function)(*given))
        parts = function(*given)
        assert isinstance(parts, jax.Array)
        rounding = (1e-11 if kind == "gradient" else 1e-12) * np.abs(problem.B).max()
        np.testing.assert_allclose(parts, whole, rtol=1e-9, atol=rounding)


@pytest.mark.parametrize("processors", [1, 2, 8])
@pytest.mark.parametrize("prepare", [vcjax.prepare, vcjax.prepare_gradient])
def test_groups_give_the_near_weights_of_one_program(problem, monkeypatch, prepare, processors):
    use_processors(monkeypatch, processors)
    rule = rule_of(problem, 3, gradient=prepare is vcjax.prepare_gradient)
    whole = jax.jit(lambda X: prepare(rule, X).near_weights)(problem.X)
    weights = prepare(rule, problem.X).near_weights
    assert isinstance(weights, jax.Array) and weights.shape == whole.shape
    np.testing.assert_allclose(weights, whole, rtol=1e-9, atol=1e-12 * np.abs(whole).max())


@pytest.mark.parametrize("processors", [1, 3])
def test_each_group_of_points_is_evaluated_once(monkeypatch, processors):
    use_processors(monkeypatch, processors)
    monkeypatch.setattr(groups, "_GROUP", 3)
    monkeypatch.setattr(groups, "_LEAST_GROUP", 3)
    counts = []

    def evaluate(group, used):
        counts.append(int(used))
        return (jax.device_put(group[:, 0]),)

    points = np.arange(15.0).reshape(5, 3)
    (found,) = groups.in_groups(evaluate, points)
    assert counts == [3, 2]
    np.testing.assert_array_equal(found, points[:, 0])


@pytest.mark.cpu
def test_groups_of_large_results_are_smaller_and_give_processors_equal_work(casings, monkeypatch):
    """If five rows were in groups of two, one of two processors would evaluate four rows."""
    use_processors(monkeypatch, 2)
    few = casings["float64"].rule
    many = dataclasses.replace(few, trg_shape=(46, few.trg_shape[1]), quad_nphi=46 * few.nfp * 4)
    for rule, most, each in (
        *((few, 5, 3), (few, 3, 3), (few, 2, 1), (few, 0.5, 1)),
        *((many, 23, 23), (many, 10, 8), (many, 3, 3), (many, 2, 2)),
    ):
        row_bytes = int(groups._GROUP_BYTES / most)
        found = groups.row_groups(rule, None, row_bytes=row_bytes)
        assert found == (rule.trg_shape[0], each)
    assert groups.row_groups(few, None) == (5, 3)


@pytest.mark.cpu
def test_rows_are_not_divided_inside_a_transformation(casings, problem, monkeypatch):
    casing = casings["float64"]
    use_processors(monkeypatch, 2)
    assert groups_of(casing, problem.B)
    seen = []
    jax.eval_shape(lambda B: seen.append(groups_of(casing, B)), problem.B)
    assert seen == [None]


# Settings that apply in the calling thread only.
SETTINGS = {
    "none": contextlib.nullcontext,
    "device": lambda: jax.default_device(jax.devices()[0]),
    "precision": lambda: jax.default_matmul_precision("float32"),
    "dtype promotion": lambda: jax.numpy_dtype_promotion("standard"),
    "rank promotion": lambda: jax.numpy_rank_promotion("raise"),
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_groups_in_other_threads_compile_nothing(casings, monkeypatch, setting):
    use_processors(monkeypatch, 2)
    # No other test compiles programs of these sizes.
    number = list(SETTINGS).index(setting)
    size = 30 + number
    problem = small_torus(trg_shape=(5, 7 + number))
    rule = rule_of(problem, 3)
    with jaxmeter.watch() as watched, SETTINGS[setting]():
        for factor in (1, 2):
            vcjax.external_field(casings["float64"], factor * problem.B, chunk_size=size)
            vcjax.prepare(rule, factor * problem.X)
    compiles = {group.name: group.compiles_count for group in watched.report.functions}
    assert compiles["_field"] == compiles["_stored"] == 1


def test_results_are_committed_to_a_device_if_an_argument_is_committed(
    casings, problem, monkeypatch
):
    use_processors(monkeypatch, 2)
    casing, device = casings["float64"], jax.devices()[0]
    assert not vcjax.external_field(casing, problem.B).committed
    assert vcjax.external_field(casing, jax.device_put(problem.B, device)).committed


def test_direct_calls_make_no_implicit_transfers(casings, problem, monkeypatch):
    use_processors(monkeypatch, 2)
    B = jax.device_put(problem.B)
    with jax.transfer_guard("disallow"):
        vcjax.external_field(casings["float64"], B)


def test_a_thread_that_outlives_the_main_thread_can_evaluate_a_field():
    code = """
import threading
import jax
jax.config.update("jax_enable_x64", True)
import vcjax
from tests.vcjax.common import casing_of, small_torus
from vcjax._programs import groups
groups.processor_count = lambda: 2
problem = small_torus()
def work():
    threading.main_thread().join()
    casing = casing_of(problem, 3)
    print(vcjax.external_field(casing, problem.B).shape)
threading.Thread(target=work).start()
"""
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "(2, 6, 3)", done.stderr
