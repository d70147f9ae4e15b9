"""The cut-off of the near kernel, and the known integral for a constant field."""

import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import erfc

from tests.vcjax.common import SMALL_RULE
from vcjax._kernels.gradient import _near_kernel, _of_constant
from vcjax._kernels.split import near_split
from vcjax._quadrature.polar import polar_quadrant


def formula(t):
    """Return N1(t) of `vcjax._kernels.near`."""
    return erfc(t) + 2 / np.sqrt(np.pi) * t * np.exp(-t * t)


def test_the_cutoff_equals_its_formula_to_rounding():
    t = np.concatenate([np.linspace(0, 8, 20001)[1:], [1e-100, 1e-8, 20.0, 40.0]])
    found = t**3 * np.asarray(jax.jit(near_split)(t))
    np.testing.assert_allclose(found, formula(t), rtol=0, atol=2e-15)
    # Relative errors are small, too; at large t they come from the rounding of exp.
    np.testing.assert_allclose(found[:20000], formula(t[:20000]), rtol=2e-14)


def test_the_cutoff_has_the_first_and_second_derivatives_of_its_formula():
    t = np.linspace(0.0, 6.0, 301)[1:]
    near, decay = formula(t), np.exp(-(t**2))
    slope, bend = (-4 / np.sqrt(np.pi) * f for f in (t * t * decay, 2 * t * (1 - t * t) * decay))
    slope, bend = slope - 3 * near / t, bend - 6 * slope / t + 12 * near / t**2

    @jax.jit
    def derivatives(t):
        forward = jax.jvp(near_split, (t,), (jnp.ones_like(t),))[1]
        reverse = jax.grad(lambda t: near_split(t).sum())(t)
        return forward, reverse, jax.vmap(jax.grad(jax.grad(near_split)))(t)

    forward, reverse, second = derivatives(t)
    np.testing.assert_allclose(t**3 * forward, slope, atol=1e-15, rtol=1e-14)
    np.testing.assert_allclose(t**3 * reverse, slope, atol=1e-15, rtol=1e-14)
    np.testing.assert_allclose(t**3 * second, bend, atol=1e-14, rtol=1e-13)


def bent(x, y):
    return x + 0.1 * x * y, y - 0.05 * x**2, 0.3 * x**2 - 0.2 * y**2 + 0.1 * x * y


def folded(x, y):
    """Return points of a patch that goes around the edge of a thin section."""
    t = 3.5 * y + 1.2
    flat, thin = (jnp.cos(t) - np.cos(1.2)), (jnp.sin(t) - np.sin(1.2))
    return x, 0.4 * flat + 0.05 * x**2, 0.1 * thin + 0.1 * x * y


RULE = dataclasses.replace(
    SMALL_RULE,
    trg_shape=(1, 1),
    patch_phi=8,
    patch_theta=6,
    quad_nphi=66,
    quad_ntheta=64,
    radial_count=40,
    angular_count=192,
    lagrange_count=8,
    cutoff=2.0,
)


@partial(jax.jit, static_argnums=0)
def differences(surface, outward, quadrant):
    """Return the integrals with one cut-off rate less those with another: known, and summed."""
    u, v, weights = quadrant
    x, y = jnp.stack([u, u, -u, -u]) / 10, jnp.stack([v, -v, v, -v]) / 10
    one, zero = jnp.ones_like(x), jnp.zeros_like(x)
    along_x, along_y = (
        jnp.stack(jax.jvp(surface, (x, y), way)[1]) for way in ((one, zero), (zero, one))
    )
    normals = outward * jnp.cross(along_x, along_y, axis=0) / 100
    nodes = jnp.concatenate([jnp.stack(surface(x, y)), normals]).swapaxes(0, 1)[:, None]

    def known(rate):
        return _of_constant(RULE, nodes, weights, jnp.array([[rate]]))

    def summed(rate):
        return _near_kernel(nodes, weights, rate, axis=2).sum(axis=(0, 3))

    return known(2.5) - known(3.5), summed(2.5) - summed(3.5)


@pytest.mark.parametrize("outward", [1.0, -1.0])
@pytest.mark.parametrize("surface", [bent, folded])
def test_the_known_integral_over_a_patch_includes_the_integrals_along_the_rim(surface, outward):
    """The near kernels of two cut-off rates differ by a smooth function.

    The polar rule integrates this function accurately. With both rates, the near kernel is large at
    the rim.
    """
    known, summed = differences(surface, outward, polar_quadrant(RULE))
    np.testing.assert_allclose(known, summed, rtol=0, atol=2e-3 * np.abs(summed).max())
