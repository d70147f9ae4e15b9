"""The nearest point of the surface."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy import cos, sin

import vcjax
from tests.vcjax.common import section, toroidal_field, unit_normals
from vcjax import problems
from vcjax._geometry.foot import Periods, nearest

SECTIONS = {
    "ellipse": lambda t: (3 + 0.5 * cos(t), 0.9 * sin(t)),
    "D": lambda t: (3 + 0.5 * cos(t + 0.4 * sin(t)), 0.9 * sin(t)),
    # The curvature changes sign, and opposite sheets are close to each other.
    "bean": lambda t: (3 + 0.5 * cos(t) + 0.7 * cos(2 * t), 0.6 * sin(t)),
}


@pytest.mark.parametrize("name", SECTIONS)
def test_the_distance_is_the_least_distance_also_beyond_centres_of_curvature(name):
    X, (r, z) = section(SECTIONS[name]), SECTIONS[name](np.linspace(0, 2 * np.pi, 20001))
    rule = vcjax.choose_off_surface(X, toroidal_field(X), 3, nfp=1)
    casing = vcjax.prepare_off_surface(rule, X)
    random = np.random.default_rng(0)
    R = random.uniform(r.min() - 0.2, r.max() + 0.2, 192)
    Z = random.uniform(z.min() - 0.2, z.max() + 0.2, 192)
    turn = random.uniform(0, 2 * np.pi, 192)
    points = np.stack([R * cos(turn), R * sin(turn), Z], axis=1)
    least = np.hypot(r - R[:, None], z - Z[:, None]).min(axis=1)
    # The interpolated surface and the brute-force search are both accurate to about 1e-5.
    surface = Periods(casing.nodes[:3], casing.turns)
    foot = jax.jit(nearest, static_argnums=2)(jnp.asarray(points), surface, rule)
    np.testing.assert_allclose(foot.distance, least, atol=1e-4)


def test_next_to_a_flat_section_no_foot_is_farther_than_the_start_of_a_normal():
    """The points lie on normals of the surface."""
    surface = problems.rotating_ellipse_surface(5, major_radius=1.0, semi_axes=(0.05, 0.4))
    X = surface.points(8, 8, half_period=False)
    rule = vcjax.choose_off_surface(X, toroidal_field(X), 2, nfp=5)
    casing = vcjax.prepare_off_surface(rule, X)
    grid: dict[str, Any] = dict(nfp=5, half_period=False, nphi=32, ntheta=128)
    places = vcjax.surface_points(X, **grid).reshape(-1, 3)
    normals = unit_normals(X, **grid).reshape(-1, 3)
    random = np.random.default_rng(0)
    way = 0.14 * 10.0 ** random.uniform(-2, 0.3, len(places)) * random.choice([-1, 1], len(places))
    periods = Periods(casing.nodes[:3], casing.turns)
    points = jnp.asarray(places + way[:, None] * normals)
    foot = jax.jit(nearest, static_argnums=2)(points, periods, rule)
    # The interpolated surface is accurate to 1e-3 of the patch radius.
    assert (foot.distance < np.abs(way) + 1e-4).all()
