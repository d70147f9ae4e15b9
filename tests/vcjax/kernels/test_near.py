"""The near kernel's cut-off: its values, and derivatives of all kinds."""

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import erfc

from vcjax._kernels.near import field_split


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
