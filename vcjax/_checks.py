"""Check arguments. Each error names the call, what it got, and what to try."""

import os
import sys

import jax
import numpy as np
from jax.core import Tracer

from vcjax._devices import check_context
from vcjax._errors import VcjaxError, errors_named
from vcjax._geometry.symmetry import grid_angles
from vcjax._quadrature.rule import FIELD_PARTS, GRADIENT_PARTS, Rule, is_integer
from vcjax._quadrature.seams import check_surface_seams

# Kernels contain the fifth power of distances. Distances range from the node spacing to the size of
# the surface. The powers neither overflow nor underflow if the largest |component| of X is from
# 1e-50 to 1e50.
_LARGEST = 1e50

# The id of the process in which JAX runs. It is None at first, and is set when this process forks
# after JAX has started. A forked process does not have the threads on which JAX computes, so the
# forked process would hang when it reads a result. JAX itself only warns at the fork.
_jax_runs_in: int | None = None


def _before_fork() -> None:
    global _jax_runs_in
    # Every public function of JAX that reports backends also starts them. The line below therefore
    # reads a private name. If JAX drops this name, forked processes get no error from vcjax, only
    # the warning that JAX issues at the fork.
    bridge = sys.modules.get("jax._src.xla_bridge")
    if _jax_runs_in is None and getattr(bridge, "_backends", None):
        _jax_runs_in = os.getpid()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(before=_before_fork)


def check_jax(call: str) -> None:
    """Raise `VcjaxError` if JAX runs in 32-bit mode or in a process forked after JAX started."""
    if _jax_runs_in not in (None, os.getpid()):
        raise VcjaxError(
            f"{call} runs in a process that was forked after JAX had started; JAX cannot compute "
            "there and would hang. Start processes with multiprocessing.get_context('spawn'), or "
            "fork before the first use of JAX."
        )
    if not jax.config.jax_enable_x64:  # pyright: ignore[reportAttributeAccessIssue]
        raise VcjaxError(
            f"{call} needs 64-bit floats, but JAX runs in 32-bit mode. Call "
            "jax.config.update('jax_enable_x64', True) before any other use of JAX, "
            "or set JAX_ENABLE_X64=1 in the environment."
        )


def check_integer(call: str, name: str, value, low: int, high: int) -> int:
    """Return the value as an int; raise `VcjaxError` if it is not an integer in [low, high]."""
    if not is_integer(value, low) or value > high:
        raise VcjaxError(f"{call} got {name}={value!r}; give an integer from {low} to {high}.")
    return int(value)


def check_grid(call: str, name: str, value) -> int:
    """Return the value as an int; raise `VcjaxError` if it is not an integer in [1, 1e5]."""
    return check_integer(call, name, value, 1, 10**5)


def check_shape(call: str, name: str, shape) -> tuple[int, int]:
    """Return the shape of a grid as two ints; raise `VcjaxError` if it is not (nphi, ntheta)."""
    try:
        nphi, ntheta = shape
    except (TypeError, ValueError):
        raise VcjaxError(f"{call} got {name}={shape!r}; give (nphi, ntheta).") from None
    return check_grid(call, name, nphi), check_grid(call, name, ntheta)


def check_rule(call: str, rule, choose: str = "vcjax.choose") -> None:
    """Raise `VcjaxError` unless `rule` is a `Rule` with consistent values."""
    if not isinstance(rule, Rule):
        raise VcjaxError(
            f"{call} got a rule of type {type(rule).__name__}; make a rule with {choose}."
        )
    # `object.__setattr__` and `equinox.tree_at` can change values without a check.
    with errors_named(call):
        rule.check()


def check_vectors(
    call: str,
    name: str,
    values,
    shape: tuple[int, int] | None = None,
    *,
    given_shape: tuple[int, ...] | None = None,
) -> None:
    """Raise `VcjaxError` unless `values` are finite float64 vectors (nphi, ntheta, 3).

    The largest absolute value must be 0, or from 1e-50 to 1e50. The values of a traced array cannot
    be read and are not checked. The largest value of an array outside host memory is computed where
    the array is. The array is copied to the host only if this value is NaN or infinite. `shape` is
    the (nphi, ntheta) of the rule; None allows any shape. `given_shape` is the shape in which the
    user gave the values, if the caller has reshaped them.
    """
    if not isinstance(values, jax.Array | np.ndarray):
        raise VcjaxError(
            f"{call} got {name} of type {type(values).__name__}; give an array (nphi, ntheta, 3)."
        )
    if values.ndim != 3 or values.shape[2] != 3:
        raise VcjaxError(
            f"{call} got {name} of shape {values.shape}; give (nphi, ntheta, 3): "
            "Cartesian components last. Component-first data need numpy.moveaxis(data, 0, -1)."
        )
    if shape is not None and values.shape[:2] != shape:
        raise VcjaxError(
            f"{call} got {name} of shape {values.shape}, but the rule was chosen for "
            f"{(*shape, 3)}; pass an array of the rule's shape, or choose a rule for this {name}."
        )
    if values.dtype != np.float64:
        if isinstance(values, jax.Array):
            check_jax(call)  # in 32-bit mode, JAX arrays cannot be float64
        raise VcjaxError(
            f"{call} got {name} of dtype {values.dtype}; give float64, "
            f"for example {name}.astype(float)."
        )
    if isinstance(values, np.ma.MaskedArray):
        raise VcjaxError(
            f"{call} got {name} as a masked array; give a plain array with a value at every point."
        )
    if not isinstance(values, Tracer):
        _check_range(call, name, values, given_shape or values.shape)


def _check_range(call: str, name: str, values, given_shape: tuple[int, ...]) -> None:
    # The maximum is NaN if any value is NaN.
    if in_host_memory(values):
        largest = float(_maximum(np.asarray(values)))
    else:
        # Without this context, JAX would trace `_maximum_on_device` if the caller is traced.
        with jax.ensure_compile_time_eval():
            largest = float(jax.device_get(_maximum_on_device(values)))
    if not np.isfinite(largest):
        bad = ~np.isfinite(jax.device_get(values).reshape(given_shape)).all(axis=-1)
        raise VcjaxError(
            f"{call} got {name} with NaN or infinite values at {int(bad.sum())} of {bad.size} "
            f"points, the first at {np.argwhere(bad)[0].tolist()}; repair these points first."
        )
    if largest and not 1 / _LARGEST <= largest <= _LARGEST:
        raise VcjaxError(
            f"{call} got {name} with a largest absolute value of {largest:.3g}, but powers of this "
            f"value overflow or underflow; give {name} in another unit."
        )


def in_host_memory(values) -> bool:
    """Return whether an array is in host memory of this process, so that NumPy needs no copy."""
    if not isinstance(values, jax.Array):
        return True
    on_cpu = all(device.platform == "cpu" for device in values.devices())
    return on_cpu and values.is_fully_addressable


def _maximum(values):
    return abs(values).max(initial=0.0)


_maximum_on_device = jax.jit(_maximum)


def check_points(call: str, points) -> None:
    """Raise `VcjaxError` unless `points` is a finite float64 array (n, 3) with n at least 1."""
    is_array = isinstance(points, jax.Array | np.ndarray)
    if not is_array or points.shape[1:] != (3,) or not len(points):
        got = f"shape {points.shape}" if is_array else f"type {type(points).__name__}"
        raise VcjaxError(
            f"{call} got points of {got}; give an array (n, 3) with at least one point."
        )
    # Adding an axis to a JAX array would compile a program, so NumPy adds the axis where possible.
    on_host = not isinstance(points, Tracer) and in_host_memory(points)
    values = (np.asarray(points) if on_host else points)[None]
    check_vectors(call, "points", values, given_shape=points.shape)


def check_casing(call: str, casing, kind: type, prepare: str) -> None:
    """Raise `VcjaxError` unless a casing has the type `kind`, and the right dtypes and shapes.

    Calls such as `jax.tree.map` can change the dtypes and the shapes of the arrays.
    """
    if not isinstance(casing, kind):
        raise VcjaxError(
            f"{call} got a casing of type {type(casing).__name__}; make a casing with {prepare}."
        )
    for path, leaf in jax.tree.leaves_with_path(casing):
        # Near weights may be float32, because `prepare` has the option near_weights="float32".
        is_weights = path[0] == jax.tree_util.GetAttrKey("near_weights")
        allowed = ("float64", "float32") if is_weights else ("float64",)
        if str(getattr(leaf, "dtype", "float64")) not in allowed:
            raise VcjaxError(
                f"{call} got a casing with arrays of dtype {leaf.dtype}; do not change the dtypes "
                f"of the arrays that {prepare} made."
            )
    if casing.devices is not None:
        check_context(call, casing.devices)
    for name, expected in _shapes(casing).items():
        shape = getattr(getattr(casing, name), "shape", None)
        if shape != expected:
            raise VcjaxError(
                f"{call} got a casing with {name} of shape {shape}, but its rule needs {expected}. "
                "Pass a single casing, unchanged since it was prepared. To evaluate several "
                "casings, use jax.vmap."
            )


def _shapes(casing) -> dict[str, tuple[int, ...]]:
    """Return the shapes that the checked attributes of a casing must have, by name."""
    rule = casing.rule
    images, (rows, columns) = 2 if rule.half_period else 1, rule.continued_shape
    shapes: dict[str, tuple[int, ...]] = {
        "nodes": (6, rows, columns),
        "field_phi": (3, rows, rule.src_shape[0] * 3 * images),
        "field_theta": (images, columns, rule.src_shape[1]),
        "turns": (rule.nfp, 3, 3),
    }
    if not getattr(casing, "near_recipe", True):  # the casing stores its near weights
        patch = (2 * rule.reach_phi + 1) * (2 * rule.reach_theta + 1)
        parts = GRADIENT_PARTS if hasattr(casing, "dual_basis") else FIELD_PARTS
        rows, columns = rule.trg_shape
        padding = 0 if casing.devices is None else -rows % casing.devices.size
        shapes["near_weights"] = (rows + padding, columns, parts, patch)
    return shapes


def check_constants(call: str, constants, kind: type, make: str) -> None:
    """Raise `VcjaxError` unless `constants` are of type `kind` and all their arrays are float64.

    `make` is the name of the function that computes the constants. `surface_nodes` checks that the
    constants belong to the rule.
    """
    if not isinstance(constants, kind):
        raise VcjaxError(
            f"{call} got constants of type {type(constants).__name__}; pass {make}(rule) with the "
            "same rule, or leave constants out."
        )
    dtypes = {leaf.dtype for leaf in jax.tree.leaves(constants)} - {np.dtype(np.float64)}
    if dtypes:
        raise VcjaxError(
            f"{call} got constants with arrays of dtype {min(map(str, dtypes))}, but needs "
            f"float64. Compute the constants with {make}(rule) while JAX runs in 64-bit mode, and "
            "pass them unchanged."
        )


def check_symmetry(call: str, nfp, half_period) -> tuple[int, bool]:
    """Return nfp as an int and half_period as a bool; raise `VcjaxError` if either is invalid."""
    if not isinstance(half_period, bool | np.bool_):
        raise VcjaxError(f"{call} got half_period={half_period!r}; give True or False.")
    return check_integer(call, "nfp", nfp, 1, 1000), bool(half_period)


def check_angles(call: str, nphi, ntheta, nfp, half_period) -> tuple[np.ndarray, np.ndarray]:
    """Return the angles phi and theta of a grid; raise `VcjaxError` if an argument is invalid."""
    nphi, ntheta = check_grid(call, "nphi", nphi), check_grid(call, "ntheta", ntheta)
    phi = grid_angles(nphi, *check_symmetry(call, nfp, half_period))
    return phi, 2 * np.pi * np.arange(ntheta) / ntheta


def check_concrete(
    call: str, name: str, values, shape: tuple[int, int] | None = None
) -> np.ndarray:
    """Return vectors (nphi, ntheta, 3) as a NumPy array (3, nphi, ntheta).

    Raise `VcjaxError` if the vectors are invalid or traced.
    """
    if isinstance(values, Tracer):
        raise VcjaxError(
            f"{call} got a traced {name}, but must read the values of {name} on the host. Make "
            "this call outside jit, grad and vmap. Inside jit, grad and vmap, you can call "
            "vcjax.prepare(rule, X) and evaluate fields."
        )
    check_vectors(call, name, values, shape)
    return np.asarray(jax.device_get(values)).transpose(2, 0, 1)


def check_surface(call: str, X, nfp: int, half_period: bool) -> np.ndarray:
    """Return X as a NumPy array (3, nphi, ntheta); raise `VcjaxError` unless it is a torus."""
    points = check_concrete(call, "X", X)
    if points.shape[1] < 1 or points.shape[2] < 4:
        raise VcjaxError(
            f"{call} got X of shape {X.shape}; give at least 1 toroidal and 4 poloidal points."
        )
    rows = points.shape[1] * nfp * (2 if half_period else 1)
    if rows < 3:
        raise VcjaxError(
            f"{call} got X with {rows} rows of points around the whole torus; give at least 3. "
            "Fewer rows do not show that the surface turns once around the z axis."
        )
    check_surface_seams(call, points, nfp, half_period)
    return points
