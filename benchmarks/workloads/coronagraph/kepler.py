"""Positions of planets on Kepler orbits.

Source of the projection: C. D. Murray, A. C. M. Correia, Keplerian orbits and dynamics of
exoplanets, in Exoplanets (2010), section 4, equations 50 to 55.
"""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

LARGEST_ECCENTRICITY = 0.8
ECCENTRICITIES, ANOMALIES = 513, 2049


class KeplerTable(eqx.Module):
    """A table of the eccentric anomaly, interpolated linearly in eccentricity and mean anomaly."""

    values: Float[Array, "2 e m"]
    """Sine and cosine of the eccentric anomaly.

    Rows are eccentricities from 0 to `LARGEST_ECCENTRICITY`. Columns are mean anomalies from 0 to
    2 pi.
    """

    def __call__(
        self, turns: Float[Array, ""], eccentricity: Float[Array, ""]
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Return the sine and cosine of the eccentric anomaly.

        `turns` is the mean anomaly divided by 2 pi. For an eccentricity beyond the table, both
        results are NaN. No error is raised, because the eccentricity may be traced.
        """
        _, rows, columns = self.values.shape
        inside = (eccentricity >= 0.0) & (eccentricity <= LARGEST_ECCENTRICITY)
        row = jnp.where(inside, eccentricity, jnp.nan) / LARGEST_ECCENTRICITY * (rows - 1)
        column = jnp.mod(turns, 1.0) * (columns - 1)
        i = jnp.clip(jnp.floor(row).astype(jnp.int32), 0, rows - 2)
        j = jnp.clip(jnp.floor(column).astype(jnp.int32), 0, columns - 2)
        u, v = row - i.astype(row.dtype), column - j.astype(column.dtype)
        both = jnp.arange(2, dtype=jnp.int32)
        patch = self.values[:, i + both[:, None], j + both]
        across = patch @ jnp.stack([1.0 - v, v])
        sine, cosine = jnp.unstack(across @ jnp.stack([1.0 - u, u]))
        return sine, cosine


def kepler_table(eccentricities: int = ECCENTRICITIES, anomalies: int = ANOMALIES) -> KeplerTable:
    """Return a float32 table of solutions of Kepler's equation, computed by Newton's method.

    The equation is E - e sin E = M, with the eccentric anomaly E, the eccentricity e and the mean
    anomaly M. The arguments are the numbers of values of e (rows) and of M (columns).
    """
    e = np.linspace(0.0, LARGEST_ECCENTRICITY, eccentricities)[:, None]
    m = np.linspace(0.0, 2 * np.pi, anomalies)[None, :]
    anomaly = m + e * np.sin(m) / (1.0 - e * np.cos(m))
    for _ in range(20):
        anomaly -= (anomaly - e * np.sin(anomaly) - m) / (1.0 - e * np.cos(anomaly))
    return KeplerTable(jnp.asarray(np.stack([np.sin(anomaly), np.cos(anomaly)]), jnp.float32))


class Orbits(eqx.Module):
    """Orbital elements with an entry for each planet; angles are in radians, times in days."""

    semi_major_axis: Float[Array, " planets"]
    """Semi-major axis in astronomical units."""
    eccentricity: Float[Array, " planets"]
    inclination: Float[Array, " planets"]
    node: Float[Array, " planets"]
    """Position angle of the ascending node."""
    periapsis: Float[Array, " planets"]
    """Argument of the periapsis."""
    mean_anomaly: Float[Array, " planets"]
    """Mean anomaly at time 0."""
    period: Float[Array, " planets"]

    def position(self, time: Float[Array, ""], solve: Callable) -> Float[Array, "3 ..."]:
        """Return the position of a planet relative to its star, in astronomical units.

        The components are to the north, to the east, and away from us. The time is in days. For
        several planets, map this method with `jax.vmap`. The function `solve` gets the mean anomaly
        divided by 2 pi, and the eccentricity. It returns the sine and cosine of the eccentric
        anomaly.
        """
        e = self.eccentricity
        # The angle is in turns. In radians, rounding would displace a planet by 1e-5 pixels.
        sine, cosine = solve(self.mean_anomaly / (2 * jnp.pi) + time / self.period, e)
        along = self.semi_major_axis * (cosine - e)
        across = self.semi_major_axis * jnp.sqrt(1.0 - e * e) * sine
        cos_w, sin_w = jnp.cos(self.periapsis), jnp.sin(self.periapsis)
        to_node, from_node = along * cos_w - across * sin_w, along * sin_w + across * cos_w
        cos_n, sin_n = jnp.cos(self.node), jnp.sin(self.node)
        tilted = from_node * jnp.cos(self.inclination)
        return jnp.stack(
            [
                to_node * cos_n - tilted * sin_n,
                to_node * sin_n + tilted * cos_n,
                from_node * jnp.sin(self.inclination),
            ]
        )
