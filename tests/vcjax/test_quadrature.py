"""The pieces of the quadrature: polar tables, patch interpolation, far field."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

import vcjax
from vcjax import problems
from vcjax._geometry.patch import PatchInterpolation
from vcjax._kernels.far import far_field
from vcjax._quadrature import tables


@pytest.fixture(scope="module")
def rule():
    problem = problems.w7x(3)
    return vcjax.choose(
        problem.X, problem.B, 3, nfp=5, half_period=True, trg_nphi=20, trg_ntheta=40
    )


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


def test_polar_weights_integrate_over_the_ellipse(rule):
    u, v, weights = tables.polar_quadrant(rule)
    a, b = rule.patch_phi, rule.patch_theta
    area = np.pi * a * b
    np.testing.assert_allclose(4 * weights.sum(), area, rtol=1e-13)
    np.testing.assert_allclose(4 * (weights * u**2).sum(), area * a**2 / 4, rtol=1e-12)
    np.testing.assert_allclose(4 * (weights * v**2).sum(), area * b**2 / 4, rtol=1e-12)


def test_rim_nodes_lie_on_the_largest_radius(rule):
    u, v, _ = tables.polar_quadrant(rule)
    radius = np.hypot(u / rule.patch_phi, v / rule.patch_theta)
    largest = tables.radii(rule)[0][-1]
    np.testing.assert_allclose(radius[tables.rim_nodes(rule)], largest, rtol=1e-12)
    assert tables.rim_nodes(rule).size == rule.angular_count // 4


def _dense(rule):
    """The patch interpolation of all quadrants, as one plain matrix (4 node, patch)."""
    u, v, _ = tables.polar_quadrant(rule)
    rows = []
    for sign_u, sign_v in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        phi = tables.lagrange_rows(sign_u * u, rule.reach_phi, rule.lagrange_count)
        theta = tables.lagrange_rows(sign_v * v, rule.reach_theta, rule.lagrange_count)
        rows.append((phi[:, :, None] * theta[:, None, :]).reshape(u.size, -1))
    return np.stack(rows)


def test_patch_interpolation_equals_the_plain_product(rule):
    interpolation = PatchInterpolation(vcjax.tables(rule), rule)
    shape = 2 * rule.reach_phi + 1, 2 * rule.reach_theta + 1
    values = np.random.default_rng(0).normal(size=(2, *shape))
    expected = np.einsum("qnp,mp->qmn", _dense(rule), values.reshape(2, -1))
    np.testing.assert_allclose(interpolation.to_nodes(jnp.asarray(values)), expected, atol=1e-12)


def test_spreading_is_the_transpose_of_interpolating(rule):
    interpolation = PatchInterpolation(vcjax.tables(rule), rule)
    shape = 2 * rule.reach_phi + 1, 2 * rule.reach_theta + 1
    nodes = rule.radial_count * rule.angular_count // 4
    values = np.random.default_rng(1).normal(size=(4, 2, nodes))
    expected = np.einsum("qnp,qmn->mp", _dense(rule), values).reshape(2, *shape)
    np.testing.assert_allclose(interpolation.from_nodes(jnp.asarray(values)), expected, atol=1e-11)


def _plain_sum(targets, sources, normals, B, nfp):
    total = np.zeros_like(targets)
    for k in range(nfp):
        angle = 2 * np.pi * k / nfp
        turn = np.array(
            [[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]]
        )
        y, n, b = ((turn @ v).T for v in (sources, normals, B))
        r = targets[:, None] - y
        distance = np.linalg.norm(r, axis=2)
        distance[distance < 1e-9] = np.inf
        kernel = np.cross(b, np.cross(n, r)) - b * (n * r).sum(2)[..., None]
        total += (kernel / distance[..., None] ** 3).sum(axis=1) / (4 * np.pi)
    return total


@pytest.mark.parametrize("chunks", [(7, 5), (64, 3), (10_000, 10_000), (1, 1)])
def test_far_field_equals_the_plain_sum_whatever_the_tiles(chunks):
    rng = np.random.default_rng(2)
    sources, normals, B = rng.normal(size=(3, 3, 50)) + np.array([4.0, 0, 0])[:, None]
    targets = np.concatenate([sources.T[::9], rng.normal(size=(4, 3)) + [4.0, 0, 0]])
    grids = (v.reshape(3, 5, 10) for v in (sources, normals, B))
    result = far_field(
        *(jnp.asarray(v) for v in (targets, *grids)),
        nfp=3,
        aspect=0.5,
        chunk_size=chunks[0],
        target_chunk_size=chunks[1],
    )
    expected = _plain_sum(targets, sources, normals, B, 3)
    np.testing.assert_allclose(result.T, expected, rtol=1e-11, atol=1e-11 * np.abs(expected).max())


def test_rules_are_values(rule):
    same = dataclasses.replace(rule)
    assert same == rule and hash(same) == hash(rule)
    assert rule.quad_nphi == rule.stride_phi * rule.trg_shape[0] * rule.images
    assert rule.quad_ntheta == rule.stride_theta * rule.trg_shape[1]
