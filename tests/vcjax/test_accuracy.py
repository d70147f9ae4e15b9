"""Compare separated fields with the fields of known currents.

Limits on W7-X are the errors of the C++ package. Limits on the rotating ellipse are from the tests
of the C++ package.
"""

from typing import Any

import numpy as np
import pytest

import vcjax
from tests.vcjax.common import casing_of, optimised, rippled, toroidal_field
from vcjax import problems, wout
from vcjax._geometry import symmetry


@pytest.mark.parametrize(
    "digits, limit, half_period",
    [(3, 1.9e-4, True), (6, 2.2e-7, True), (6, 2.2e-7, False), (12, 1.5e-11, True)],
)
def test_w7x_is_as_accurate_as_the_reference(digits, limit, half_period):
    problem = problems.w7x(digits, half_period=half_period)
    casing = casing_of(problem, digits, optimise=True)
    external = optimised(vcjax.external_field)(casing, problem.B)
    assert problem.external_error(external) <= limit


@pytest.mark.parametrize(
    "digits, limit, half_period",
    [(3, 2e-4, True), (6, 2e-8, True), (9, 1e-9, True), (6, 2e-8, False)],
)
def test_rotating_ellipse_is_within_the_limits_of_the_reference_and_of_the_estimate(
    digits, limit, half_period
):
    problem = problems.rotating_ellipse(digits, half_period=half_period)
    casing = casing_of(problem, digits, optimise=True)
    error = problem.external_error(optimised(vcjax.external_field)(casing, problem.B))
    assert error <= limit
    estimate = vcjax.error_estimate(casing, problem.B)
    assert error <= estimate <= min(100 * error, 10.0 ** (1 - digits))


@pytest.mark.parametrize("digits, limit", [(3, 1e-3), (6, 1e-6), (9, 1e-8)])
def test_the_grid_resolves_the_surface_even_for_a_uniform_field(digits, limit):
    problem = problems.w7x(3)
    vertical = np.broadcast_to([0.0, 0.0, 1.0], problem.B.shape).copy()
    kind: dict[str, Any] = dict(nfp=5, half_period=True, trg_nphi=10, trg_ntheta=20)
    rule = vcjax.choose(problem.X, vertical, digits, **kind)
    external = vcjax.external_field(vcjax.prepare(rule, problem.X), vertical)
    assert np.abs(np.asarray(external) - [0.0, 0.0, 1.0]).max() <= limit


@pytest.mark.parametrize("digits, cross_section", [(3, "shaped"), (6, "circular"), (9, "shaped")])
def test_tori_reach_the_digits_asked_for(digits, cross_section):
    problem = problems.axisymmetric(digits, cross_section=cross_section)
    casing = casing_of(problem, digits)
    external = vcjax.external_field(casing, problem.B)
    assert problem.external_error(external) <= 10.0**-digits
    # The internal field also has the error of B on the source grid.
    internal = vcjax.internal_field(casing, problem.B)
    tail = vcjax.spectral_tail(problem.B, nfp=1, half_period=False)
    assert problem.internal_error(internal) <= 10.0**-digits + 2 * tail


def test_the_spectral_tail_is_large_for_an_unresolved_field_and_small_for_a_resolved_field():
    coarse, fine = problems.w7x(3), problems.w7x(9)
    assert vcjax.spectral_tail(coarse.B, nfp=5, half_period=True) > 1e-4
    assert vcjax.spectral_tail(fine.B, nfp=5, half_period=True) < 1e-8


def test_an_equilibrium_has_a_toroidal_external_field_and_a_poloidal_internal_field():
    equilibrium = wout.read_wout(wout.tokamak_path())
    X, B = equilibrium.boundary(4, 24), equilibrium.field(8, 96)
    rule = vcjax.choose(X, B, 6, nfp=equilibrium.nfp, half_period=True, trg_nphi=4, trg_ntheta=24)
    casing = vcjax.prepare(rule, X)
    external = np.asarray(vcjax.external_field(casing, B))
    internal = np.asarray(vcjax.internal_field(casing, B))
    np.testing.assert_allclose(external + internal, equilibrium.field(4, 24), atol=1e-5)
    # The coils make the toroidal field, and the plasma current makes the poloidal field.
    phi = np.pi / equilibrium.nfp * (np.arange(4) + 0.5) / 4
    toroidal = np.stack([-np.sin(phi), np.cos(phi), 0 * phi], axis=1)[:, None]
    share = np.abs((external * toroidal).sum(-1)) / np.linalg.norm(external, axis=-1)
    assert share.min() > 0.9
    assert np.abs((internal * toroidal).sum(-1)).max() < 0.1 * np.linalg.norm(B, axis=-1).max()


@pytest.mark.filterwarnings("ignore::vcjax.UnresolvedWarning")  # a coarse grid
def test_symmetric_data_on_a_full_period_give_a_symmetric_field():
    """The grid has few columns, so that the spacing of nodes limits the cut-off rates."""
    X = problems.w7x_boundary().points(12, 12, half_period=False)
    field = problems.magnetic_field(problems.w7x(3).outside, X)
    rule = vcjax.choose(X, field, 4, nfp=5)
    external = vcjax.external_field(vcjax.prepare(rule, X), field)
    period = symmetry.field_period(np.moveaxis(np.asarray(external), -1, 0), 5, False)
    image = np.roll(period[:, ::-1, ::-1], 1, axis=(1, 2)) * [[[-1.0]], [[1.0]], [[1.0]]]
    assert np.abs(period - image).max() <= 1e-10 * np.abs(field).max()


def test_field_and_gradient_of_a_thin_section_have_the_digits_asked_for():
    """A coarse grid resolves the field, so only the distance between sheets requires many nodes.

    The gradient is small: about 1/100 of |B| divided by the node spacing.
    """
    surface = problems.rotating_ellipse_surface(5, major_radius=1.0, semi_axes=(0.05, 0.4))
    X = surface.points(4, 8, half_period=True)
    kind: dict[str, Any] = dict(nfp=5, half_period=True)
    targets = vcjax.surface_points(X, **kind, nphi=4, ntheta=24)
    sources = (problems.CentralConductor(0.5), problems.ToroidalLoop(0.14, r=(1.6,), z=(0.9,)))
    sources += (problems.ToroidalLoop(0.14, r=(1.6,), z=(-0.9,)),)
    B = problems.magnetic_field(sources, vcjax.surface_points(X, **kind, nphi=8, ntheta=18))
    kind |= dict(trg_nphi=4, trg_ntheta=24)
    rule = vcjax.choose(X, B, 3, **kind)
    external = np.asarray(vcjax.external_field(vcjax.prepare(rule, X), B))
    error = np.linalg.norm(external - problems.magnetic_field(sources, targets), axis=-1)
    assert error.max() <= 1e-3 * np.linalg.norm(B, axis=-1).max()
    rule = vcjax.choose(X, B, 3, **kind, gradient=True)
    casing = vcjax.prepare_gradient(rule, X)
    gradient = problems.magnetic_field_gradient(sources, targets)
    error = np.abs(np.asarray(vcjax.external_gradient(casing, B)) - gradient).max()
    error /= np.abs(gradient).max()
    assert error <= 1e-3
    assert error / 2 <= vcjax.error_estimate(casing, B) <= 300 * error


def test_the_mean_of_a_field_on_three_rows_does_not_count_as_unresolved():
    rows = problems.axisymmetric(9).B[::2]
    assert rows.shape[0] == 3
    assert vcjax.spectral_tail(rows, nfp=1, half_period=False) < 1e-8
    jittered = rows * np.array([1.0, 1.1, 1.0])[:, None, None]
    assert vcjax.spectral_tail(jittered, nfp=1, half_period=False) > 0.01


@pytest.mark.parametrize(("mode", "size"), [(20, 0.3), (30, 0.1), (30, 0.001)])
@pytest.mark.filterwarnings("ignore::vcjax.VcjaxWarning")
def test_a_field_with_a_strong_high_mode_has_the_digits_asked_for(mode, size):
    surface = problems.rotating_ellipse_surface(4, semi_axes=(0.3, 0.6), major_radius=2.0)
    kind: dict[str, Any] = dict(nfp=4, half_period=True)
    X = surface.points(10, 20, half_period=True)
    x = vcjax.surface_points(X, **kind, nphi=9, ntheta=128)
    B = rippled(toroidal_field(x), mode, size)
    fields = []
    for digits in (6, 9):
        rule = vcjax.choose(X, B, digits, **kind, trg_nphi=3, trg_ntheta=8)
        fields.append(np.asarray(vcjax.external_field(vcjax.prepare(rule, X), B)))
    assert np.abs(fields[0] - fields[1]).max() <= 1e-6 * np.abs(B).max()
