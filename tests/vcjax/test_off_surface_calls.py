"""Calls off the surface: caps, numbers of points, transformations, names in errors."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vcjax
from tests.vcjax.common import determined, small_torus
from vcjax import problems
from vcjax._programs import groups

# Inside and outside, near the surface and far from it.
POINTS = np.array(
    [[2.3, 0.1, 0.0], [2.49, 0.1, 0.1], [2.6, 0.1, 0.1], [0.5, 0.3, 0.1], [0.0, 2.4, 0.2]]
)


@pytest.fixture(scope="module")
def problem():
    return small_torus()


@pytest.fixture(scope="module")
def choose(problem):
    return partial(vcjax.choose_off_surface, problem.X, problem.B, nfp=1)


@pytest.fixture(scope="module")
def casing(choose, problem):
    return vcjax.prepare_off_surface(choose(2), problem.X)


@pytest.fixture(scope="module")
def found(casing, problem):
    return vcjax.field_at(casing, problem.B, POINTS)


def assert_same(call, found, at: Any = slice(None), rtol=1e-10, atol=1e-12):
    """Check that `call` equals the results `found` at the points with the indices `at`."""
    for some, whole in zip(call, found, strict=True):
        np.testing.assert_allclose(some, np.asarray(whole)[at], rtol=rtol, atol=atol)


def test_caps_that_allow_the_digits_change_nothing(choose):
    rule = choose(3)
    assert choose(3, max_nphi=rule.quad_nphi, max_ntheta=rule.quad_ntheta) == rule


@pytest.mark.filterwarnings("ignore::vcjax.UnresolvedWarning")
def test_caps_give_the_digits_that_the_warning_names_and_the_estimate_holds(choose, problem):
    fine = choose(5)
    with pytest.warns(
        vcjax.UnresolvedWarning, match="but 5 digits need .* the rule has . digits"
    ) as message:
        rule = choose(5, max_ntheta=fine.quad_ntheta - 1)
    digits = int(str(message[0].message).split("the rule has ")[1][0])
    assert rule == choose(digits) and rule.quad_ntheta < fine.quad_ntheta
    casing = vcjax.prepare_off_surface(rule, problem.X)
    found = vcjax.field_at(casing, problem.B, POINTS)
    known = problems.magnetic_field
    expected = np.where(
        found.inside[:, None], known(problem.outside, POINTS), known(problem.inside, POINTS)
    )
    error = np.abs(determined(found) - expected).max(axis=1) / np.abs(problem.B).max()
    assert (error < found.error).all()


def test_one_program_evaluates_any_number_of_points(casing, problem, found):
    # `found` has compiled the program. 1050 points are more than one group.
    counts = [*range(1, 20), 1050]
    points = np.tile(POINTS, (210, 1))
    with jax.no_tracing(True):
        calls = [vcjax.field_at(casing, problem.B, points[:count]) for count in counts]
    for call, count in zip(calls, counts, strict=True):
        assert_same(call, found, np.arange(count) % len(POINTS), rtol=1e-12, atol=0)


@pytest.mark.parametrize(("processors", "count"), [(2, 65), (2, 2049), (8, 300), (1, 1050)])
def test_groups_in_threads_give_each_point_its_own_result(
    casing, problem, found, monkeypatch, processors, count
):
    monkeypatch.setattr(groups, "processor_count", lambda: processors)
    at = np.arange(count) % len(POINTS)
    assert_same(vcjax.field_at(casing, problem.B, POINTS[at]), found, at, rtol=1e-12, atol=0)


def test_a_traced_call_has_the_numbers_of_a_direct_call(casing, problem, found):
    assert_same(jax.jit(vcjax.field_at)(casing, problem.B, POINTS), found)


def test_a_jitted_function_may_close_over_all_arguments(casing, problem, found):
    closed = jax.eval_shape(lambda: vcjax.field_at(casing, problem.B, POINTS))
    assert [v.shape for v in closed] == [v.shape for v in found]


def test_vmap_over_points_gives_each_point_its_own_result(casing, problem, found):
    order = np.array([[0, 1], [4, 2], [3, 0]])
    mapped = jax.jit(jax.vmap(vcjax.field_at, in_axes=(None, None, 0)))
    assert_same(mapped(casing, problem.B, POINTS[order]), found, order)


def test_on_the_surface_the_forward_derivative_in_the_field_is_the_field(casing, problem):
    B, on = jnp.asarray(problem.B), problem.X[:1, 0]
    value, slope = jax.jvp(lambda B: vcjax.field_at(casing, B, on).external, (B,), (B,))
    np.testing.assert_allclose(slope, value, rtol=0, atol=1e-13)


def test_second_derivatives_in_points_agree_with_the_known_fields():
    # The source grid must resolve as many digits as the rule.
    problem = small_torus(6, src_shape=(4, 40))
    rule = vcjax.choose_off_surface(problem.X, problem.B, 4, nfp=1)
    casing = vcjax.prepare_off_surface(rule, problem.X)
    points, (weight, move) = POINTS[[0, 3]], np.random.default_rng(2).normal(size=(2, 2, 3))

    @jax.jit
    def bend(casing, B, points):
        def total(points):
            return (weight * determined(vcjax.field_at(casing, B, points))).sum()

        return jax.jvp(jax.grad(total), (points,), (jnp.asarray(move),))[1]

    def known_slope(step):
        at = points + step * move
        sides = zip((problem.outside, problem.inside), at, weight, strict=True)
        known = problems.magnetic_field_gradient
        return np.stack([known(sources, x[None])[0] @ w for sources, x, w in sides])

    expected = (known_slope(1e-3) - known_slope(-1e-3)) / 2e-3
    found = bend(casing, jnp.asarray(problem.B), jnp.asarray(points))
    assert np.abs(found - expected).max() < 1e-2 * np.abs(expected).max()


def test_unusable_arguments_are_named(casing, problem, no_shape_checks):
    X, B, point = problem.X, problem.B, np.ones((1, 3))
    wrong = dict(constants=casing.constants.field)
    calls: list[tuple[str, tuple, dict, str]] = [
        ("field_at", (X, B, point), {}, "a casing of type"),
        ("field_at", (casing, B[1:], point), {}, "B of shape"),
        ("field_at", (casing, B, point[0]), {}, r"points of shape \(3,\)"),
        ("field_at", (casing, B, point[:0]), {}, r"points of shape \(0, 3\)"),
        ("field_at", (casing, B, np.nan * point), {}, r"points with NaN .* at \[0\]"),
        ("gradient_at", (casing, B, point), dict(chunk_size=0), "chunk_size"),
        ("prepare_off_surface", (casing.rule, X), wrong, "constants of type Tables"),
        # These errors name the function that chooses, prepares and evaluates.
        ("off_surface_field", (X, 0 * B, point, 1), dict(nfp=1), "B that is zero"),
        ("off_surface_gradient", (X, B, point[0], 1), dict(nfp=1), r"points of shape \(3,\)"),
        ("choose_off_surface", (X, B, 0), dict(nfp=1), "digits=0"),
        ("choose_off_surface", (X, B, 3), dict(nfp=1, max_nphi=0), "max_nphi=0"),
        (
            "choose_off_surface",
            (X, B, 3),
            dict(nfp=1, max_ntheta=5),
            "max_nphi=None, max_ntheta=5, but 3 digits need .* raise",
        ),
    ]
    for name, arguments, options, said in calls:
        with pytest.raises(vcjax.VcjaxError, match=f"^{name} got {said}"):
            getattr(vcjax, name)(*arguments, **options)


def test_direct_calls_make_no_implicit_transfers(casing, problem, found):
    with jax.transfer_guard("disallow"):
        assert_same(vcjax.field_at(casing, problem.B, POINTS), found, rtol=0, atol=0)


def test_direct_calls_return_the_same_results_under_debug_nans(casing, problem, found):
    divided = vcjax.prepare_off_surface(casing.rule, problem.X, devices=jax.devices()[:1])
    with jax.debug_nans(True):
        for each in (casing, divided):
            assert_same(vcjax.field_at(each, problem.B, POINTS), found)
