"""Tables of a rule: polar nodes and weights, and the interpolation on patches."""

import dataclasses
import math
from fractions import Fraction

import jax
import numpy as np
import pytest

import vcjax
from tests.vcjax.common import rule_of
from vcjax import problems
from vcjax._geometry import symmetry
from vcjax._geometry.patch import PatchInterpolation
from vcjax._quadrature import polar, tables
from vcjax._quadrature.missed import unresolved


@pytest.fixture(scope="module")
def rule():
    return rule_of(problems.w7x(3), 3)


def test_narrow_patches_interpolate_from_fewer_points(rule):
    counts, reaches = rule.stencil_counts, (rule.reach_phi, rule.reach_theta)
    assert counts[0] < rule.lagrange_count  # the patches of W7-X are narrow along phi
    for count, reach, offsets in zip(counts, reaches, polar.polar_quadrant(rule), strict=False):
        rows = tables.lagrange_rows(offsets, reach, count)
        assert np.count_nonzero(rows, axis=1).max() == count


def test_the_estimate_depends_on_the_number_of_points_that_narrow_patches_use(rule):
    B = np.moveaxis(problems.w7x(3).B, -1, 0)
    samples = symmetry.field_period(B, rule.nfp, rule.half_period)
    wider = dataclasses.replace(rule, margin=rule.margin + 2)
    assert wider.stencil_counts[0] == rule.stencil_counts[0] + 4
    narrow, wide = (float(unresolved(samples, one, np)[1].max()) for one in (rule, wider))
    assert narrow > 1.5 * wide


@pytest.mark.parametrize("count", [4, 6, 10])
def test_lagrange_rows_are_exact_for_polynomials_below_their_order(count):
    reach = 6
    points = np.linspace(-5.9, 5.9, 40)
    rows = tables.lagrange_rows(points, reach, count)
    grid = np.arange(-reach, reach + 1)
    for power in range(count):
        np.testing.assert_allclose(
            rows @ (grid / reach) ** power, (points / reach) ** power, atol=1e-12
        )


def test_weights_next_to_a_node_have_full_relative_accuracy():
    """The kernel of a gradient multiplies errors of weights by the inverse cube of the distance."""
    reach, count, point = 8, 16, 1e-6
    row = tables.lagrange_rows(np.array([point]), reach, count)[0]
    stencil, exact = range(1 - count // 2, count // 2 + 1), Fraction(point)
    for j in stencil:
        weight = math.prod((exact - k) / (j - k) for k in stencil if k != j)
        assert row[reach + j] == pytest.approx(float(weight), rel=2e-15, abs=0)


def test_polar_weights_integrate_over_the_ellipse(rule):
    u, v, weights = polar.polar_quadrant(rule)
    a, b = rule.patch_phi, rule.patch_theta
    area = np.pi * a * b
    np.testing.assert_allclose(4 * weights.sum(), area, rtol=1e-13)
    np.testing.assert_allclose(4 * (weights * u**2).sum(), area * a**2 / 4, rtol=1e-12)
    np.testing.assert_allclose(4 * (weights * v**2).sum(), area * b**2 / 4, rtol=1e-12)


def test_rim_nodes_lie_on_the_largest_radius(rule):
    u, v, _ = polar.polar_quadrant(rule)
    radius = np.hypot(u / rule.patch_phi, v / rule.patch_theta)
    largest = polar.radii(rule)[0][-1]
    np.testing.assert_allclose(radius[polar.rim_nodes(rule)], largest, rtol=1e-12)
    assert polar.rim_nodes(rule).size == rule.angular_count // 4


def _plain_matrix(rule):
    """Return the patch interpolation of all quadrants as a plain matrix (4, node, patch)."""
    u, v, _ = polar.polar_quadrant(rule)
    rows = []
    for sign_u, sign_v in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        phi = tables.lagrange_rows(sign_u * u, rule.reach_phi, rule.stencil_counts[0])
        theta = tables.lagrange_rows(sign_v * v, rule.reach_theta, rule.stencil_counts[1])
        rows.append((phi[:, :, None] * theta[:, None, :]).reshape(u.size, -1))
    return np.stack(rows)


def test_patch_interpolation_and_its_transpose_equal_the_plain_products(rule):
    interpolation, matrix = PatchInterpolation(vcjax.tables(rule), rule), _plain_matrix(rule)
    shape = 2 * rule.reach_phi + 1, 2 * rule.reach_theta + 1
    values = np.random.default_rng(0).normal(size=(2, 3, *shape))
    expected = np.einsum("qnp,tcp->qtcn", matrix, values.reshape(2, 3, -1))
    np.testing.assert_allclose(jax.jit(interpolation.to_nodes)(values), expected, atol=1e-12)
    nodes = rule.radial_count * rule.angular_count // 4
    values = np.random.default_rng(1).normal(size=(4, 2, nodes))
    expected = np.einsum("qnp,qmn->mp", matrix, values).reshape(2, *shape)
    np.testing.assert_allclose(jax.jit(interpolation.from_nodes)(values), expected, atol=1e-11)


@pytest.mark.skipif(bool(np.finfo(np.longdouble).eps > 1e-18), reason="needs extended precision")
@pytest.mark.parametrize("count", [1, 2, 21, 76, 200])
def test_gauss_legendre_weights_are_accurate_next_to_the_ends(count):
    nodes, weights = polar.gauss_legendre(count)
    assert (np.diff(nodes) > 0).all()
    x = 1 - 2 * nodes.astype(np.longdouble)
    before, value, total = np.ones_like(x), x, np.ones_like(x)
    for k in range(1, count):
        total += (2 * k + 1) * value**2
        before, value = value, ((2 * k + 1) * x * value - k * before) / (k + 1)
    # A weight is the inverse of the sum of the squares of orthonormal polynomials at its node.
    lower = nodes <= 0.5  # here, distances from the end 0 have small relative errors
    np.testing.assert_allclose((weights * total)[lower].astype(float), 1.0, rtol=2e-14)
    np.testing.assert_allclose(weights, weights[::-1], rtol=1e-15)
    np.testing.assert_allclose(nodes, 1 - nodes[::-1], atol=1e-15)
