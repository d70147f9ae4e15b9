"""Checks of arguments. Each error names the call, what it got, and what to try."""

import jax
import numpy as np
from jax.core import Tracer

from vcjax._errors import VcjaxError, errors_named
from vcjax._forked import is_forked
from vcjax._quadrature.rule import Rule
from vcjax._quadrature.seams import check_surface_seams

# Kernels take up to the fifth power of distances; node spacings are smaller than the surface.
_LARGEST = 1e50


def check_jax(call: str) -> None:
    """Refuse to start where JAX would silently round every input, or never answer."""
    if is_forked():
        raise VcjaxError(
            f"{call} runs in a process that was forked after JAX had started; JAX cannot compute "
            "there and would wait for ever. Start processes with "
            "multiprocessing.get_context('spawn'), or fork before anything of JAX is used."
        )
    if not jax.config.jax_enable_x64:  # pyright: ignore[reportAttributeAccessIssue]
        raise VcjaxError(
            f"{call} needs 64-bit floats, but JAX runs in 32-bit mode. Call "
            "jax.config.update('jax_enable_x64', True) before any other use of JAX, "
            "or set JAX_ENABLE_X64=1 in the environment."
        )


def check_integer(call: str, name: str, value, low: int, high: int) -> int:
    """Return an integer in [low, high]."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | np.integer)
        or not low <= value <= high
    ):
        raise VcjaxError(f"{call} got {name}={value!r}; give an integer from {low} to {high}.")
    return int(value)


def check_grid(call: str, name: str, value) -> int:
    """Return a number of grid points along one direction."""
    return check_integer(call, name, value, 1, 10**5)


def check_rule(call: str, rule, choose: str = "vcjax.choose") -> None:
    """Refuse a rule that `choose` did not make."""
    if not isinstance(rule, Rule):
        raise VcjaxError(
            f"{call} got a rule of type {type(rule).__name__}; make one with {choose}."
        )
    # `object.__setattr__` and `tree_at` change values without a check.
    with errors_named(call):
        rule.check()


def check_vectors(call: str, name: str, values, shape: tuple[int, int] | None = None) -> None:
    """Refuse anything but float64 vectors (nphi, ntheta, 3).

    Tracers pass unread. Arrays of accelerators are reduced where they lie: only a refused array is
    copied to the host.
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
            f"{(*shape, 3)}; pass an array of that shape or call vcjax.choose again."
        )
    if values.dtype != np.float64:
        raise VcjaxError(
            f"{call} got {name} of dtype {values.dtype}; give float64, "
            f"for example {name}.astype(float)."
        )
    if isinstance(values, np.ma.MaskedArray):
        raise VcjaxError(f"{call} got {name} as a masked array; every point counts, fill it first.")
    if not isinstance(values, Tracer):
        _check_range(call, name, values)


def _check_range(call: str, name: str, values) -> None:
    # A maximum is NaN if any value is.
    if is_near(values):
        largest = float(_maximum(np.asarray(values)))
    else:
        # Under a trace concrete arrays would be traced as well.
        with jax.ensure_compile_time_eval():
            largest = float(_maximum_on_device(values))
    if not np.isfinite(largest):
        bad = ~np.isfinite(np.asarray(values)).all(axis=2)
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        raise VcjaxError(
            f"{call} got {name} with {int(bad.sum())} points that are NaN or infinite, "
            f"the first at [{at[0]}, {at[1]}]; repair the data first."
        )
    if largest and not 1 / _LARGEST <= largest <= _LARGEST:
        raise VcjaxError(
            f"{call} got {name} with a largest value of {largest:.3g}; powers of it leave the "
            "range of floats, give it in another unit."
        )


def is_near(values) -> bool:
    """Return whether NumPy reads an array where it lies, on the host."""
    if not isinstance(values, jax.Array):
        return True
    is_host = all(device.platform == "cpu" for device in values.devices())
    return is_host and values.is_fully_addressable


def _maximum(values):
    return abs(values).max(initial=0.0)


_maximum_on_device = jax.jit(_maximum)


def check_points(call: str, points) -> None:
    """Refuse anything but float64 points (n, 3), n at least 1."""
    is_array = isinstance(points, jax.Array | np.ndarray)
    if not is_array or points.shape[1:] != (3,) or not len(points):
        got = getattr(points, "shape", type(points).__name__)
        raise VcjaxError(f"{call} got points {got}; give an array (n, 3), n at least 1.")
    # On the device another axis would be a program.
    on_host = not isinstance(points, Tracer) and is_near(points)
    check_vectors(call, "points", (np.asarray(points) if on_host else points)[None])


def check_casing(call: str, casing, kind: type, prepare: str) -> None:
    """Refuse a casing that `prepare` did not make, or whose arrays `jax.tree.map` has changed."""
    if not isinstance(casing, kind):
        raise VcjaxError(
            f"{call} got a casing of type {type(casing).__name__}; make one with {prepare}."
        )
    for path, leaf in jax.tree.leaves_with_path(casing):
        # Stored weights may be float32: an option.
        rounded = getattr(leaf, "dtype", np.float64) != np.float64
        if rounded and path[0] != jax.tree_util.GetAttrKey("near_weights"):
            raise VcjaxError(
                f"{call} got a casing of dtype {leaf.dtype}; keep the float64 arrays that "
                "preparing the surface made."
            )
    for name, expected in _shapes(casing).items():
        shape = getattr(casing, name).shape
        if shape != expected:
            raise VcjaxError(
                f"{call} got a casing with {name} of shape {shape}, but its rule needs {expected}; "
                "give one casing as it was prepared, and map over many with jax.vmap."
            )


def _shapes(casing) -> dict[str, tuple[int, ...]]:
    """Return the shapes that the arrays of a casing have by its rule."""
    rule = casing.rule
    images, (rows, columns) = 2 if rule.half_period else 1, rule.continued_shape
    shapes: dict[str, tuple[int, ...]] = {
        "nodes": (6, rows, columns),
        "field_phi": (3, rows, rule.src_shape[0] * 3 * images),
        "field_theta": (images, columns, rule.src_shape[1]),
        "turns": (rule.nfp, 3, 3),
    }
    weights = getattr(casing, "near_weights", None)
    if weights is not None:
        patch = (2 * rule.reach_phi + 1) * (2 * rule.reach_theta + 1)
        # Devices fill the rows up; the number of weights is that of the kind.
        shapes["near_weights"] = (*weights.shape[:1], rule.trg_shape[1], *weights.shape[2:3], patch)
    return shapes


def check_constants(call: str, constants, kind: type, make: str) -> None:
    """Refuse tables of another kind, or rounded ones; `surface_nodes` compares their rule."""
    if not isinstance(constants, kind):
        raise VcjaxError(
            f"{call} got constants of type {type(constants).__name__}; make them with "
            f"{make}(rule), of the rule given, or leave them out."
        )
    dtypes = {leaf.dtype for leaf in jax.tree.leaves(constants)} - {np.dtype(np.float64)}
    if dtypes:
        raise VcjaxError(
            f"{call} got constants of dtype {min(map(str, dtypes))}; make them with {make}(rule) "
            "while JAX uses 64-bit floats, and keep them as they are."
        )


def check_symmetry(call: str, nfp, half_period) -> tuple[int, bool]:
    """Return the number of field periods and whether grids cover half a period."""
    if not isinstance(half_period, bool | np.bool_):
        raise VcjaxError(f"{call} got half_period={half_period!r}; give True or False.")
    return check_integer(call, "nfp", nfp, 1, 1000), bool(half_period)


def check_concrete(
    call: str, name: str, values, shape: tuple[int, int] | None = None
) -> np.ndarray:
    """Return vectors (nphi, ntheta, 3) on the host, component first."""
    if isinstance(values, Tracer):
        raise VcjaxError(
            f"{call} got a traced {name}: it decides array sizes on the host. "
            "Call it outside jit, grad and vmap; vcjax.prepare(rule, X) is the part to trace."
        )
    check_vectors(call, name, values, shape)
    return np.asarray(values).transpose(2, 0, 1)


def check_surface(call: str, X, nfp: int, half_period: bool) -> np.ndarray:
    """Return the component-first points (3, nphi, ntheta) of a closed surface, on the host."""
    points = check_concrete(call, "X", X)
    if points.shape[1] < 1 or points.shape[2] < 4:
        raise VcjaxError(
            f"{call} got X of shape {X.shape}; give at least 1 toroidal and 4 poloidal points."
        )
    rows = points.shape[1] * nfp * (2 if half_period else 1)
    if rows < 3:
        raise VcjaxError(
            f"{call} got X with {rows} rows of points around the whole torus; give at least 3, as "
            "fewer cannot show that it turns once around the z axis."
        )
    check_surface_seams(call, points, nfp, half_period)
    return points
