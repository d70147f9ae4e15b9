"""Constants of the quadrature off the surface."""

from dataclasses import dataclass
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vcjax._pytree import pytree
from vcjax._quadrature.rule import Rule
from vcjax._quadrature.tables import Tables, gauss_legendre, radii, tables

_CORE_NODES = 8
"""Nodes on each ray of the core, over the cut-off; enough for distances down to 1e-10."""


@pytree
@dataclass(frozen=True, eq=False)
class OffSurfaceTables:
    """Constants of a rule for `prepare_off_surface`, as arrays that a program takes as an argument.

    Attributes
    ----------
    field : the constants that fields on the surface need as well.
    rings : radii and weights of the rings of polar nodes.
    core_modes : (core, core) from values on the rings of the core to Legendre coefficients.
    core_nodes, core_weights : (node,) Gauss-Legendre on [0, 1], of the integral along a ray.
    """

    field: Tables
    rings: tuple[Float[Array, " ring"], Float[Array, " ring"]]
    core_modes: Float[Array, "core core"]
    core_nodes: Float[Array, " node"]
    core_weights: Float[Array, " node"]


def off_surface_tables(rule: Rule) -> OffSurfaceTables:
    """The constants of a rule for points off the surface; built once for the rules used last."""
    return OffSurfaceTables(field=tables(rule), **jax.tree.map(jnp.asarray, _host_tables(rule)))


@lru_cache(maxsize=8)
def _host_tables(rule: Rule) -> dict:
    degrees = np.arange(rule.core_count)
    rings, weights = gauss_legendre(rule.core_count)
    legendre = np.polynomial.legendre.legvander(2 * rings - 1, rule.core_count - 1)
    core_nodes, core_weights = gauss_legendre(int(np.ceil(_CORE_NODES * rule.cutoff)))
    return dict(
        rings=radii(rule),
        core_modes=(2 * degrees[:, None] + 1) * (legendre * weights[:, None]).T,
        core_nodes=core_nodes,
        core_weights=core_weights,
    )
