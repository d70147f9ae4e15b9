"""The search for the cheapest rule, and the demands on rules of many digits."""

import warnings

import numpy as np
import pytest

import vcjax
from tests.vcjax.common import rule_of, small_torus, symmetry, toroidal_field
from vcjax import problems
from vcjax._geometry.symmetry import grid_angles, rotate
from vcjax._quadrature import grid
from vcjax._quadrature.demand import Demand
from vcjax._quadrature.grid import _deciding, _fitting_patches, _stretch
from vcjax._quadrature.rims import Rims
from vcjax._quadrature.sheets import Sheets

DEMAND = Demand.of(5.0, off_surface=False)


def _metric(count: int, seed: int) -> np.ndarray:
    """Return first fundamental forms (3, count) of random tangents, which are long along phi."""
    a, b = np.random.default_rng(seed).normal(size=(2, count, 3)) * [[[9.0]], [[1.0]]]
    return np.array([(v * w).sum(axis=1) for v, w in ((a, a), (a, b), (b, b))])


@pytest.mark.parametrize("seed", range(5))
def test_patches_that_fit_at_the_deciding_points_fit_at_all_points(seed):
    metric = _metric(40, seed)
    metric[1] *= 0.5
    deciding = _deciding(metric)
    grids = np.array([[200, 400, 800, 900], [40, 80, 60, 300]])
    assert deciding.shape[1] < 20
    found, expected = (_fitting_patches(DEMAND, m, grids) for m in (deciding, metric))
    assert expected[0].shape[1] > 10
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(_stretch(deciding, *found), _stretch(metric, *found), rtol=1e-12)


def test_the_first_clear_patch_equals_the_first_in_a_search_of_single_patches(bean):
    samples = np.moveaxis(bean, -1, 0)
    rims = Rims(samples, 1, _metric(1, 0), both_sides=True, symmetric=False)
    semi_axes = np.stack([np.full(200, 0.3), np.linspace(0.01, 0.6, 200)])
    quad = np.full((2, 200), 200)
    single = [rims.first_clear(quad[:, [k]], semi_axes[:, [k]], 2.0) == 0 for k in range(200)]
    first = int(np.argmax(single))
    assert first > 64
    assert rims.first_clear(quad, semi_axes, 2.0) == first
    assert rims.first_clear(quad[:, :first], semi_axes[:, :first], 2.0) is None


CALLS = (vcjax.choose, vcjax.choose_off_surface)


@pytest.mark.parametrize("choose", CALLS)
@pytest.mark.parametrize("digits, gradient", [(3, False), (3, True), (6, False)])
def test_the_rule_does_not_depend_on_which_patches_are_tried_first(
    monkeypatch, choose, digits, gradient
):
    problem = problems.w7x(digits)

    def rule(dearer):
        monkeypatch.setattr(grid, "_DEARER", dearer)
        with warnings.catch_warnings(action="ignore"):
            return choose(problem.X, problem.B, digits, **symmetry(problem), gradient=gradient)

    everything = rule(0.0)
    assert rule(1.1) == rule(np.inf) == everything


def test_a_bent_surface_that_needs_small_patches_has_a_rule_for_ten_digits(bean):
    angles = grid_angles(4, 1, False)
    X = np.moveaxis(rotate(np.moveaxis(bean, -1, 0), angles), 0, -1)
    at = vcjax.surface_points(X, nfp=1, half_period=False, nphi=4, ntheta=64)
    rule = vcjax.choose_off_surface(X, toroidal_field(at), 10, nfp=1)
    assert rule.digits == 10


def test_targets_too_dense_along_phi_for_any_patch_are_named_as_the_cause():
    with pytest.raises(vcjax.VcjaxError, match="20000 x 1 targets.*at least 20000 .*trg_nphi"):
        rule_of(small_torus(), 3, trg_nphi=20000, trg_ntheta=1)


def test_fewer_rows_and_more_columns_help_if_rows_of_targets_are_too_dense():
    X = problems.circular_torus(minor_radius=1.9).points(4, 400, half_period=False)

    def choose(nphi, ntheta):
        return vcjax.choose(X, toroidal_field(X), 6, nfp=1, trg_nphi=nphi, trg_ntheta=ntheta)

    # Next to the hole, the nodes are close together along phi, but not on the outer side.
    with pytest.raises(vcjax.VcjaxError, match="in some places much closer together along phi"):
        choose(400, 1)
    for dense in ((200, 1), (400, 200), (1, 400)):
        assert choose(*dense).trg_shape == dense


def test_only_demands_of_many_digits_allow_a_wider_near_kernel():
    for digits in (3, 9):
        demand = Demand.of(float(digits), off_surface=False)
        assert demand.wide_cutoff == demand.cutoff
    field = Demand.of(10.0, off_surface=False)
    gradient = Demand.of_gradient(10, 1.0, 0.02, off_surface=False)
    for demand, more in ((field, 1.0), (gradient, 0.9)):
        assert demand.cutoff**2 - demand.wide_cutoff**2 == pytest.approx(more * np.log(10))
    # This gradient loses so many digits that `cutoff` is limited. A wider kernel is not allowed.
    demand = Demand.of_gradient(10, 100.0, 0.001, off_surface=False)
    assert demand.wide_cutoff == demand.cutoff


@pytest.fixture
def bean():
    """Return co-rotating points (4, 12, 3) of a torus that is dented on the inside."""
    theta = 2 * np.pi * np.arange(12) / 12
    r, z = 3 + np.cos(theta) + 0.4 * np.cos(2 * theta), 1.6 * np.sin(theta)
    return np.broadcast_to(np.stack([r, 0 * r, z], axis=-1), (4, 12, 3))


@pytest.mark.parametrize(
    "part, more", [(0.5, 1.0), (0.89, 1.018), (1.0, 1.059), (1.12, 1.14), (2.0, 2.0)]
)
def test_near_kernel_and_sheets_together_need_more_radii_if_both_need_about_as_many(part, more):
    digits_8 = Demand.of(8.0, off_surface=False)
    least = digits_8.least_radial_count
    # The patch of 1 radian contains a sheet that needs `part` times the least number of radii.
    one = np.array([part * least * 2.2 / digits_8.radial_reach])
    sheets = Sheets(np.array([0.5]), one, one, np.ones((2, 1)))
    assert digits_8.joint_radial_count(sheets, np.array([0.1, 1.0])) == round(more * least)
