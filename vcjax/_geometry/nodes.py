"""The quadrature grid of a rule as arrays: its rows, its targets, its surface."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from vcjax._errors import VcjaxError
from vcjax._geometry import resample
from vcjax._quadrature.rule import Rule
from vcjax._quadrature.tables import Tables


def row_angles(rule: Rule) -> Float[Array, " row"]:
    """Return the toroidal angles of the quadrature rows of one field period."""
    return resample.equispaced(rule.first_angle, rule.spacing[0], rule.period_rows, jnp)


def target_angles(rule: Rule) -> Float[Array, " tphi"]:
    """Return the toroidal angles of the target rows."""
    step = rule.stride_phi * rule.spacing[0]
    return resample.equispaced(rule.first_angle, step, rule.trg_shape[0], jnp)


def target_rows(rule: Rule) -> Int[Array, " tphi"]:
    """Return the indices of the target rows; under a trace computed, not embedded."""
    return jnp.arange(rule.trg_shape[0])


def at_targets(nodes: Float[Array, "k row column"], rule: Rule) -> Float[Array, "k tphi ttheta"]:
    """Return the values at targets of values on the quadrature nodes of one period."""
    return nodes[:, : rule.trg_shape[0] * rule.stride_phi : rule.stride_phi, :: rule.stride_theta]


def surface_nodes(rule: Rule, X: Float[Array, "nphi ntheta 3"], constants: Tables):
    """Return points, both tangents, and outward normals on the quadrature nodes of one period.

    Returns
    -------
    x, x_phi, x_theta, area_normals : (3, row, column) each, co-rotating components. A normal's
    length is the area of its node.
    """
    if not isinstance(constants, Tables) or constants.rule != rule:
        raise VcjaxError(
            "Preparing a surface got constants of another rule; make them with vcjax.tables(rule), "
            "of the rule given, or leave them out."
        )
    samples = resample.surface_period(X.transpose(2, 0, 1), rule.nfp, rule.half_period, jnp)
    phi, theta = constants.surface_phi, constants.surface_theta
    x, x_phi, x_theta = resample.tangents(samples, phi, theta, jnp)
    normals = jnp.cross(x_phi, x_theta, axis=0) * (rule.spacing[0] * rule.spacing[1])
    outward = jnp.sign((x * normals).sum())
    return x, x_phi, x_theta, jax.lax.stop_gradient(outward) * normals
