"""The nearest point of the surface."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vcjax
from vcjax._geometry.foot import nearest
from vcjax._geometry.nodes import row_angles
from vcjax._geometry.resample import rotate

SECTIONS = {
    "ellipse": (lambda t: 3 + 0.5 * np.cos(t), lambda t: 0.9 * np.sin(t)),
    "D": (lambda t: 3 + 0.5 * np.cos(t + 0.4 * np.sin(t)), lambda t: 0.9 * np.sin(t)),
    # Its curvature changes sign; opposite sheets are near each other.
    "bean": (lambda t: 3 + 0.5 * np.cos(t) + 0.7 * np.cos(2 * t), lambda t: 0.6 * np.sin(t)),
}
ANGLES = np.linspace(0, 2 * np.pi, 20001)


@pytest.mark.parametrize("section", SECTIONS)
def test_the_distance_is_the_least_one_also_beyond_centres_of_curvature(section):
    r, z = SECTIONS[section]
    theta, phi = 2 * np.pi * np.arange(48) / 48, 2 * np.pi * np.arange(6)[:, None] / 6
    X = np.stack([r(theta) * np.cos(phi), r(theta) * np.sin(phi), z(theta) + 0 * phi], axis=2)
    toroidal = np.cross([0.0, 0.0, 1.0], X) / (X[..., :2] ** 2).sum(axis=2, keepdims=True)
    casing = vcjax.prepare_off_surface(vcjax.choose_off_surface(X, toroidal, 3, nfp=1), X)
    count = 200
    random = np.random.default_rng(0)
    R = random.uniform(r(ANGLES).min() - 0.2, r(ANGLES).max() + 0.2, count)
    Z = random.uniform(z(ANGLES).min() - 0.2, z(ANGLES).max() + 0.2, count)
    turn = random.uniform(0, 2 * np.pi, count)
    points = np.stack([R * np.cos(turn), R * np.sin(turn), Z], axis=1)
    least = np.hypot(r(ANGLES) - R[:, None], z(ANGLES) - Z[:, None]).min(axis=1)
    # The interpolated surface and the brute force both are right to about 1e-5.
    surface = rotate(casing.sources, -row_angles(casing.rule), jnp)
    foot = jax.jit(nearest, static_argnums=2)(points, surface, casing.rule)
    np.testing.assert_allclose(foot.distance, least, atol=1e-4)
