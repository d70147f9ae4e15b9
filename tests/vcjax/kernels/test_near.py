"""The near kernel's cut-off: its values, and derivatives of all kinds."""

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import erfc

from vcjax._geometry.jump import symmetric_traceless
from vcjax._kernels.gradient import _near_kernel, combine_gradient
from vcjax._kernels.split import field_split


def formula(t):
    return erfc(t) + 2 / np.sqrt(np.pi) * t * np.exp(-t * t)


def test_the_cutoff_is_its_formula_to_rounding():
    t = np.concatenate([np.linspace(0, 8, 20001), [0.0, 1e-300, 1e-8, 20.0, 40.0]])
    found = np.asarray(field_split(jnp.asarray(t)))
    np.testing.assert_allclose(found, formula(t), rtol=0, atol=2e-15)
    # For large t, values keep their relative accuracy, except for the rounding of exp.
    np.testing.assert_allclose(found[:20001], formula(t[:20001]), rtol=2e-14)


def test_the_cutoff_is_differentiated_in_both_modes_and_twice():
    t = jnp.linspace(0.0, 6.0, 301)
    decay = np.exp(-(np.asarray(t) ** 2))
    slope, bend = (-4 / np.sqrt(np.pi) * f for f in (t * t * decay, 2 * t * (1 - t * t) * decay))
    forward = jax.jvp(field_split, (t,), (jnp.ones_like(t),))[1]
    reverse = jax.grad(lambda t: field_split(t).sum())(t)
    np.testing.assert_allclose(forward, slope, atol=1e-15)
    np.testing.assert_allclose(reverse, slope, atol=1e-15)
    second = jax.vmap(jax.grad(jax.grad(field_split)))(t)
    np.testing.assert_allclose(second, bend, atol=1e-14)


def test_near_weights_give_the_symmetric_derivative_of_the_near_kernel_without_its_trace():
    alpha = 0.7
    nodes, normals, B = jnp.asarray(np.random.default_rng(4).normal(size=(3, 3, 20)))

    def field(x):
        r = x[:, None] - nodes
        distance = jnp.sqrt((r**2).sum(axis=0))
        curl = jnp.cross(B, jnp.cross(normals, r, axis=0), axis=0)
        kernel = (curl - B * (normals * r).sum(axis=0)) / distance**3
        return (field_split(alpha * distance) * kernel).sum(axis=1)

    derivative = jax.jacfwd(field)(jnp.zeros(3)).T
    expected = symmetric_traceless(derivative[..., None, None])[..., 0, 0]
    given = jnp.concatenate([nodes, normals])[None]
    weights = _near_kernel(given, jnp.ones(20), alpha, axis=1)
    np.testing.assert_allclose(combine_gradient(B[None], weights)[0], expected, rtol=1e-12)
