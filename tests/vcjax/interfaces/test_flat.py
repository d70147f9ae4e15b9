"""The replacement for the C++ package: its results agree, and invalid arguments are refused."""

import copy
import pickle
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.vcjax.common import flat, surface
from tests.vcjax.interfaces.common import DIGITS, set_up
from vcjax import AccuracyWarning, VcjaxError, problems
from vcjax.interfaces import VirtualCasing, _estimate


@pytest.fixture(scope="module")
def reference(problem):
    package = pytest.importorskip("virtual_casing", reason="the C++ package has no wheel here")
    return set_up(package.VirtualCasing(), problem, 4, 6)


@pytest.mark.parametrize("part", ["external", "internal"])
def test_fields_agree_with_the_reference(problem, casing, reference, part):
    ours = getattr(casing, f"compute_{part}_B")(flat(problem.B))
    theirs = np.array(getattr(reference, f"compute_{part}_B")(flat(problem.B)))
    assert ours.shape == theirs.shape
    assert np.abs(ours - theirs).max() <= 2 * 10.0**-DIGITS * np.abs(problem.B).max()


def test_gradients_agree_with_the_reference(problem, casing, reference):
    ours = casing.compute_external_gradB(flat(problem.B))
    known = problems.magnetic_field_gradient(problem.outside, surface(problem, 4, 6).reshape(-1, 3))
    limit = 1e-2 * np.abs(known).max()
    assert np.abs(ours.reshape(3, 3, 24) - known.transpose(2, 1, 0)).max() <= limit
    # The reference extrapolates: with DIGITS digits, its error would be 13 %.
    fine = set_up(type(reference)(), problem, 4, 6, digits=DIGITS + 2)
    assert np.abs(ours - fine.compute_external_gradB(flat(problem.B))).max() <= limit


def test_off_surface_fields_agree_with_the_reference(problem, off_surface, reference, points):
    limit = 2 * 10.0**-DIGITS * np.abs(problem.B).max()
    for part, at in (("external", slice(6)), ("internal", slice(6, 18))):
        call = getattr(reference, f"compute_{part}_B_offsurf")
        theirs = call(flat(problem.B), flat(points[at]))
        assert np.abs(flat(off_surface[part][at]) - theirs).max() <= limit


def test_off_surface_fields_have_their_digits_where_determined_and_are_nan_elsewhere(
    problem, off_surface, points
):
    for part, sources, determined, rest in (
        ("external", problem.outside, slice(6), slice(6, 18)),
        ("internal", problem.inside, slice(6, 18), slice(6)),
    ):
        assert np.isnan(off_surface[part][rest]).all()
        known = problems.magnetic_field(sources, points[determined])
        error = np.abs(off_surface[part][determined] - known).max()
        assert error <= 10.0**-DIGITS * np.abs(problem.B).max()


def test_a_large_estimated_error_causes_a_warning(problem, casing, monkeypatch):
    monkeypatch.setattr(_estimate, "_LIMIT", 1e-9)
    message = "^compute_external_B_offsurf has an estimated error of .* but 3 digits were asked for"
    with pytest.warns(AccuracyWarning, match=message):
        casing.compute_external_B_offsurf(flat(problem.B), [0.7, 0.0, 0.0])


def test_normals_point_outward_and_have_length_one(problem, casing):
    normal = casing.get_normal().reshape(3, -1)
    np.testing.assert_allclose(np.linalg.norm(normal, axis=0), 1.0, rtol=1e-14)
    points = flat(surface(problem, 4, 6)).reshape(3, -1)
    # The centres of the elliptical cross-sections are at the distance 0.7 from the z axis.
    centres = points * [[1.0], [1.0], [0.0]] * 0.7 / np.hypot(points[0], points[1])
    assert (normal * (points - centres)).sum(axis=0).min() > 0


def test_the_normal_at_a_single_target_on_the_inner_side_points_outward():
    X = np.roll(problems.circular_torus().points(4, 16, half_period=False), 8, axis=1)
    casing = VirtualCasing()
    casing.setup(3, 1, False, 4, 16, flat(X), 4, 24, 1, 1)
    np.testing.assert_allclose(casing.get_normal(), [-1, 0, 0], rtol=0, atol=1e-14)


def test_concrete_fields_are_separated_inside_a_traced_function_too(problem, casing):
    if jax.__version_info__ < (0, 8):
        pytest.skip("JAX 0.7 refuses to prepare a surface while it traces")
    B = flat(problem.B)
    calls = {
        "compute_external_B": [B],
        "compute_external_gradB": [B],
        "compute_external_B_offsurf": [B, [0.7, 0.0, 0.0]],
    }
    for name, arguments in calls.items():
        call = getattr(casing, name)
        inside = jax.jit(lambda: call(*arguments))()  # noqa: B023
        np.testing.assert_allclose(inside, call(*arguments), rtol=0, atol=1e-12)


def test_lists_are_accepted_and_a_casing_is_kept_for_a_multiple_of_its_field(problem, casing):
    from_array = casing.compute_external_B(flat(problem.B))
    held = dict(casing._setup._held)
    from_list = casing.compute_external_B((0.5 * flat(problem.B)).tolist())
    np.testing.assert_allclose(2 * from_list, from_array, rtol=0, atol=1e-14)
    assert casing._setup._held == held


def test_a_copied_or_pickled_casing_keeps_what_it_prepared(problem, casing, monkeypatch):
    B = flat(problem.B)
    field = casing.compute_external_B(B)
    monkeypatch.setattr("vcjax.interfaces._surface_setup._PREPARE", {})
    for other in (copy.deepcopy(casing), pickle.loads(pickle.dumps(casing))):
        np.testing.assert_array_equal(other.compute_external_B(B), field)
        assert len(other._setup.verified) == len(casing._setup.verified)


def test_targets_default_to_the_source_grid(problem):
    casing = set_up(VirtualCasing(), problem)
    assert casing.get_normal().shape == (problem.B.size,)


@pytest.mark.parametrize(
    "change, said",
    [
        (dict(digits=0), "setup got digits=0"),
        (dict(Nt=11), r"setup got X of shape \(600,\); give \(3, 11, 20\) or \(660,\)"),
        (dict(src_Nt=0), "setup got src_Nt=0"),
        (dict(trg_Np=-2), "setup got trg_Np=-2"),
        (dict(X="surface"), "setup got X of type str"),
        (dict(NFP=0), "^setup got NFP=0"),
        (dict(NFP=3), "^setup got an open surface.* check NFP=3 and"),
        (dict(half_period=1), "^setup got half_period=1"),
    ],
)
def test_impossible_set_ups_are_refused(no_shape_checks, problem, change, said):
    usual: dict[str, Any] = dict(digits=3, NFP=4, half_period=True, Nt=10, Np=20)
    usual |= dict(X=flat(problem.X), src_Nt=9, src_Np=45)
    with pytest.raises(VcjaxError, match=said):
        VirtualCasing().setup(**(usual | change))


def test_bad_fields_bad_points_and_calls_before_setup_are_refused(no_shape_checks, problem, casing):
    B = flat(problem.B)
    for call, arguments, said in (
        ("compute_external_B", [B[1:]], r"got B_total of shape \(3374,\)"),
        ("compute_external_B", [[[1.0, 2.0], [3.0]]], "got B_total that is not an array"),
        ("compute_external_B", [np.nan * B], "got B_total with NaN"),
        ("compute_external_B", [np.ma.masked_equal(B, B[0])], "got B_total with 1 masked values"),
        ("compute_internal_B_offsurf", [B, [1.0, 2.0, 3.0, 4.0]], "got Xt of shape"),
        ("compute_external_B_offsurf", [B, 3.0], r"got Xt of shape \(\); give \(3 n,\), component"),
    ):
        with pytest.raises(VcjaxError, match=f"{call} {said}"):
            getattr(casing, call)(*arguments)
    with pytest.raises(VcjaxError, match="compute_external_gradB got no surface yet"):
        VirtualCasing().compute_external_gradB(B)


def test_traced_fields_are_refused(problem, casing):
    B = jnp.asarray(flat(problem.B))
    with pytest.raises(VcjaxError, match="compute_external_B got B_total traced by JAX.*Virtual"):
        jax.grad(lambda B: casing.compute_external_B(B).sum())(B)


def test_fields_point_by_point_are_refused_but_waves_of_three_points_are_not(problem):
    casing = set_up(VirtualCasing(), problem, 4, 6)
    waves = np.zeros_like(problem.B)
    waves[..., 2] = np.cos(2 * np.pi * np.arange(waves.shape[1]) / 3)
    assert np.isfinite(casing.compute_external_B(flat(waves))).all()
    in_order = np.moveaxis(problem.B, -1, 0)
    field = casing.compute_external_B(in_order)
    np.testing.assert_array_equal(field, casing.compute_external_B(in_order.ravel()))
    with pytest.raises(VcjaxError, match="point by point.*give it as an array of shape"):
        casing.compute_external_B(problem.B.ravel())
