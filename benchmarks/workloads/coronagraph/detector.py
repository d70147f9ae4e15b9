"""A photon-counting detector."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, Key


class Detector(eqx.Module):
    """A photon counter."""

    pixel_ratio: Float[Array, ""]
    """Side of a pixel of the detector, in pixels of the optics' image."""
    quantum_efficiency: Float[Array, ""]
    """Probability that a photon is counted."""

    def counts(
        self,
        rate: Float[Array, "size size"],
        exposure: Float[Array, ""],
        key: Key[Array, ""],
    ) -> Int[Array, "size size"]:
        """Return the number of counted photons in each pixel of a random exposure.

        `rate` has the photons per second in each pixel, 0 or more. `exposure` is in seconds.
        """
        arriving, counting = jax.random.split(key)
        mean = rate * exposure
        photons = jax.random.poisson(arriving, mean, dtype=jnp.int32).astype(rate.dtype)
        q = self.quantum_efficiency.astype(rate.dtype)
        counted = jax.random.binomial(counting, photons, q, dtype=rate.dtype)
        return counted.astype(jnp.int32)
