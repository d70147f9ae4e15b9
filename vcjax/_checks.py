"""Checks of what callers hand in. Each error names the call, what it got, and what to try."""

import jax
import numpy as np
from jax.core import Tracer

from vcjax import _resample
from vcjax._errors import VcjaxError


def check_x64(call: str) -> None:
    """Refuse to start in 32-bit mode, where JAX would silently round every input."""
    if not jax.config.jax_enable_x64:  # pyright: ignore[reportAttributeAccessIssue]
        raise VcjaxError(
            f"{call} needs 64-bit floats, but JAX runs in 32-bit mode. Call "
            "jax.config.update('jax_enable_x64', True) before any other use of JAX, "
            "or set JAX_ENABLE_X64=1 in the environment."
        )


def check_integer(call: str, name: str, value, low: int, high: int) -> int:
    """An integer in [low, high]."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | np.integer)
        or not low <= value <= high
    ):
        raise VcjaxError(f"{call} got {name}={value!r}; give an integer from {low} to {high}.")
    return int(value)


def check_vectors(call: str, name: str, values, shape: tuple[int, int] | None = None):
    """Component-first view of float64 vectors (nphi, ntheta, 3); tracers pass unread."""
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
    if not isinstance(values, Tracer):
        finite = np.isfinite(values).all(axis=2)
        if not finite.all():
            at = tuple(int(i) for i in np.argwhere(~finite)[0])
            raise VcjaxError(
                f"{call} got {name} with {int((~finite).sum())} points that are NaN or infinite, "
                f"the first at [{at[0]}, {at[1]}]; repair the data first."
            )
    return values.transpose(2, 0, 1)


def check_surface(call: str, X, nfp: int, half_period: bool) -> np.ndarray:
    """A concrete closed surface: component-first points (3, nphi, ntheta) on the host."""
    nfp = check_integer(call, "nfp", nfp, 1, 1000)
    if not isinstance(half_period, bool | np.bool_):
        raise VcjaxError(f"{call} got half_period={half_period!r}; give True or False.")
    if isinstance(X, Tracer):
        raise VcjaxError(
            f"{call} got a traced X: it decides array sizes on the host. "
            "Call it outside jit, grad and vmap; vcjax.prepare(rule, X) is the part to trace."
        )
    points = np.asarray(check_vectors(call, "X", X))
    if points.shape[1] < 1 or points.shape[2] < 3:
        raise VcjaxError(
            f"{call} got X of shape {X.shape}; give at least 1 toroidal and 3 poloidal points."
        )
    _check_closed(call, points, nfp, half_period)
    return points


def _check_closed(call: str, points: np.ndarray, nfp: int, half_period: bool) -> None:
    """Refuse a surface whose ends do not meet as smoothly as its neighbours do.

    An open surface, a repeated end point or a wrong nfp shows as a step across the seam that is
    far from the steps beside it: more than 3 times the largest, or a vanishing one. Three is
    generous: a smooth parametrisation changes its spacing little from one step to the next.
    """
    period = 2 * np.pi / nfp
    after = points[:, :1]
    if half_period:
        image = _resample.mirror(points, _resample.POSITION_PARITY)
        turned = _resample.rotate(image, np.full(points.shape[1], period))
        rows = np.concatenate([image[:, -1:], points, turned[:, :1]], axis=1)
    else:
        rows = np.concatenate([points, _resample.rotate(after, np.full(1, period))], axis=1)
    columns = np.concatenate([points, points[:, :, :1]], axis=2)
    for name, axis, line in (("poloidal", 2, columns), ("toroidal", 1, rows)):
        steps = np.linalg.norm(np.diff(line, axis=axis), axis=0).max(axis=2 - axis)
        seams = [0, -1] if half_period and axis == 1 else [-1]
        inner = np.delete(steps, seams)
        if inner.size < 2:
            continue
        if inner.max() == 0:
            raise VcjaxError(
                f"{call} got a degenerate surface: all points along the {name} direction coincide. "
                "Check that X turns once around in theta (second axis) and along phi (first axis)."
            )
        for seam in seams:
            if steps[seam] > 3 * inner.max():
                raise VcjaxError(
                    f"{call} got an open surface: the {name} step across the seam is "
                    f"{steps[seam]:.3g}, the largest beside it {inner.max():.3g}. Give the whole "
                    f"{name} turn of one period without its end point, and check nfp={nfp} "
                    f"and half_period={half_period}."
                )
            if steps[seam] < 1e-9 * inner.max():
                raise VcjaxError(
                    f"{call} got X whose last {name} point repeats the first; drop the "
                    "repeated end point (numpy.linspace(..., endpoint=False))."
                )
