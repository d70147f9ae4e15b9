"""The quadrature grid of a rule as arrays: its nodes, its targets, its surface.

Nodes of one period are kept in laboratory components, continued beyond the period by the rule's
overlap, so that the nodes around a target are a slice and nothing has to be turned.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer
from jaxtyping import Array, Float, Int

from vcjax._errors import VcjaxError
from vcjax._geometry.resample import as_rows, resampled
from vcjax._quadrature.rule import Rule
from vcjax._quadrature.tables import Tables


def target_rows(rule: Rule) -> Int[Array, " tphi"]:
    """Return the indices of the target rows; under a trace computed, not embedded."""
    return jnp.arange(rule.trg_shape[0])


def one_period(continued: Any, rule: Rule) -> Any:
    """Return (k, row, column) values of one period from continued values."""
    (rows, columns), (i, j) = (rule.period_rows, rule.quad_ntheta), rule.overlap
    return continued[:, i : i + rows, j : j + columns]


def at_targets(nodes: Any, rule: Rule) -> Any:
    """Return (k, tphi, ttheta) values at targets from values on the nodes of one period."""
    return nodes[:, : rule.trg_shape[0] * rule.stride_phi : rule.stride_phi, :: rule.stride_theta]


def windows(
    values: Float[Array, "c row column"], rows, columns, size: tuple[int, int]
) -> Float[Array, "t c p q"]:
    """Return the windows of a size that begin at rows (t,) and columns (t,), within bounds.

    XLA gathers windows, and scatters them in a transpose, much faster than single columns.
    """
    dimensions = lax.GatherDimensionNumbers(
        offset_dims=(1, 2, 3), collapsed_slice_dims=(), start_index_map=(1, 2)
    )
    starts = jnp.stack([rows, columns], axis=1)
    sizes = values.shape[0], *size
    return lax.gather(values, starts, dimensions, sizes, mode="promise_in_bounds")


def set_up(function: Callable, rule: Rule, *values: Any) -> Any:
    """Return ``function(rule, *values, xp)``, computed on the host where all values are concrete.

    To compile it would take longer than to compute it with NumPy. Values that are traced, and
    arrays of other processes, are left to JAX.
    """
    if on_host(*values):
        found = function(rule, *jax.tree.map(np.asarray, values), np)
        return jax.device_put(found)
    return _traced(function, rule, *values)


def on_host(*values: Any) -> bool:
    """Return whether all arrays are concrete and of this process, so that it can read them."""
    return all(
        not isinstance(leaf, Tracer) and getattr(leaf, "is_fully_addressable", True)
        for leaf in jax.tree.leaves(values)
    )


@partial(jax.jit, static_argnums=(0, 1))
def _traced(function: Callable, rule: Rule, *values: Any) -> Any:
    return function(rule, *values, jnp)


def surface_nodes(
    rule: Rule, X: Float[Array | np.ndarray, "nphi ntheta 3"], constants: Tables, xp: Any
) -> tuple[Any, Any, Any]:
    """Return points and outward normals, and both tangents, on the continued nodes.

    Returns
    -------
    nodes : (6, row, column) points and area normals; the length of a normal is the area of its
        node.
    x_phi, x_theta : (3, row, column) each.
    """
    if not isinstance(constants, Tables) or constants.rule != rule:
        raise VcjaxError(
            "Preparing a surface got constants of another rule; make them with vcjax.tables(rule), "
            "of the rule given, or leave them out."
        )
    samples = resampled(as_rows(X), constants.samples_phi, constants.samples_theta)
    samples = samples.reshape(-1, X.shape[1])
    (phi, phi_slope), (theta, theta_slope) = constants.surface_phi, constants.surface_theta
    x = resampled(samples, phi, theta)
    x_phi, x_theta = resampled(samples, phi_slope, theta), resampled(samples, phi, theta_slope)
    normals = xp.cross(x_phi, x_theta, axis=0) * (rule.spacing[0] * rule.spacing[1])
    outward = xp.sign(one_period(x * normals, rule).sum())
    return xp.concatenate([x, outward * normals]), x_phi, x_theta
