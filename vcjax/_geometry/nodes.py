"""Compute the nodes of a surface on the grid of a rule, and select values at nodes and targets.

Arrays on the *continued nodes* contain the values of one field period in laboratory components. The
values are continued beyond the period by the rows and columns of ``rule.overlap`` on each side. The
values around a target are then a slice of the array, and no vector has to be rotated.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer

from vcjax._annotations import Array, Float, Int
from vcjax._errors import VcjaxError, errors_named
from vcjax._geometry.resample import as_rows, resampled
from vcjax._programs.compiled import compiled, operands
from vcjax._quadrature.rule import Rule
from vcjax._quadrature.tables import Tables

Rows: TypeAlias = Int[Array, " some"] | None
"""Indices of the target rows that a program evaluates; may be traced. None for all rows."""


def target_rows(rule: Rule) -> Int[Array, " tphi"]:
    """Return the row indices of the target grid, 0 .. tphi - 1.

    In a traced function, the program computes the indices; they are not embedded as a constant.
    """
    return jnp.arange(rule.trg_shape[0])


def one_period(continued: Any, rule: Rule) -> Any:
    """Return the values (k, row, column) of one period, from values on the continued nodes."""
    (rows, columns), (i, j) = (rule.period_rows, rule.quad_ntheta), rule.overlap
    return continued[:, i : i + rows, j : j + columns]


def at_targets(continued: Any, rule: Rule, rows: Rows = None) -> Any:
    """Return the values (k, tphi, ttheta) at the targets, from values on the continued nodes.

    If rows are given, the result has these rows only.
    """
    nodes = one_period(continued, rule)
    stop = rule.trg_shape[0] * rule.stride_phi
    return on_rows(nodes[:, : stop : rule.stride_phi, :: rule.stride_theta], rows)


def on_rows(values: Any, rows: Rows) -> Any:
    """Return the given rows of values (k, tphi, ttheta) at the targets; all rows if None."""
    return values if rows is None else values[:, rows]


def windows(
    values: Float[Array, "c row column"], rows, columns, size: tuple[int, int]
) -> Float[Array, "t c p q"]:
    """Return t windows of an array, given the first row and column of each window, (t,) each.

    Every window must lie in the array. XLA gathers windows, and scatters them in a transpose, much
    faster than single columns.
    """
    dimensions = lax.GatherDimensionNumbers(
        offset_dims=(1, 2, 3), collapsed_slice_dims=(), start_index_map=(1, 2)
    )
    starts = jnp.stack([rows, columns], axis=1)
    sizes = values.shape[0], *size
    return lax.gather(values, starts, dimensions, sizes, mode="promise_in_bounds")


def set_up(call: str, function: Callable, rule: Rule, *values: Any) -> Any:
    """Return ``function(rule, *values, xp)``, computed with NumPy on the host where possible.

    Compiling the function would take longer than running it with NumPy. JAX runs the function if
    `on_host` is False for the values. Errors name `call`.
    """
    with errors_named(call):
        if on_host(*values):
            found = function(rule, *jax.tree.map(np.asarray, values), np)
            return operands(found)
        return _traced(function, rule, *operands(values))


def on_host(*values: Any) -> bool:
    """Return whether NumPy can read all arrays.

    The result is False if an array is traced, or is stored at least partly in another process.
    """
    return all(
        not isinstance(leaf, Tracer) and getattr(leaf, "is_fully_addressable", True)
        for leaf in jax.tree.leaves(values)
    )


@compiled({}, static_argnums=(0, 1))
def _traced(function: Callable, rule: Rule, *values: Any) -> Any:
    return function(rule, *values, jnp)


def surface_nodes(
    rule: Rule, X: Float[Array | np.ndarray, "nphi ntheta 3"], constants: Tables, xp: Any
) -> tuple[Any, Any, Any]:
    """Return points, outward normals and tangents of a surface on the continued nodes.

    X has the shape that the rule was chosen for. All results have laboratory components. The first
    result, (6, row, column), contains points, then outward normals. The others, (3, row, column)
    each, are the tangents dX/dphi and dX/dtheta. The length of a normal is the area that its node
    stands for. Raise an error if `constants` are not the tables of the rule.
    """
    if not isinstance(constants, Tables) or constants.rule != rule:
        raise VcjaxError(
            "surface_nodes got constants of another rule; leave constants out, or make the "
            "constants from the rule that you pass, with vcjax.tables, vcjax.gradient_tables or "
            "vcjax.off_surface_tables."
        )
    samples = resampled(as_rows(X), constants.samples_phi, constants.samples_theta)
    # Subtract the mean R component from the samples. Its contribution is added to points and phi
    # tangents below. The interpolation then has smaller rounding errors.
    mean = samples[0].mean()
    along_R = xp.array([1.0, 0.0, 0.0])[:, None, None]
    samples = (samples - mean * along_R).reshape(-1, X.shape[1])
    (phi, phi_slope), (theta, theta_slope) = constants.surface_phi, constants.surface_theta
    e_R, e_phi = mean * constants.axes[:, :, :, None]
    x = resampled(samples, phi, theta) + e_R
    x_phi = resampled(samples, phi_slope, theta) + e_phi
    x_theta = resampled(samples, phi, theta_slope)
    normals = xp.cross(x_phi, x_theta, axis=0) * (rule.spacing[0] * rule.spacing[1])
    outward = xp.sign(one_period(x * normals, rule).sum())
    return xp.concatenate([x, outward * normals]), x_phi, x_theta
