"""Make virtual casing problems from known currents outside and inside a surface."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from vcjax._annotations import Float
from vcjax._checks import check_shape
from vcjax._errors import VcjaxError, errors_named
from vcjax._geometry.surface import surface_points
from vcjax.problems._filaments import CentralConductor, Filament, biot_savart, biot_savart_gradient

Source = Filament | CentralConductor
_AXIS = 1e-50
"""Distance from the z axis below which a point counts as on the axis, because powers of the inverse
distance may overflow."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A surface, the total field on it, and the known external and internal parts of the field.

    All arrays are read-only and have Cartesian components along the last axis. The source grid
    (``src``) and the target grid (``trg``) cover the same full or half field period as `X`. Their
    points lie on the smooth surface through `X` and are given by `vcjax.surface_points`.

    Attributes
    ----------
    name : name of the problem.
    nfp : number of field periods.
    half_period : whether the grids cover half a field period.
    digits : accuracy that the source grid is designed for.
    X : (nphi, ntheta, 3) points of the surface.
    B : (src_nphi, src_ntheta, 3) total field on the source grid.
    B_ext : (trg_nphi, trg_ntheta, 3) field of the outside currents on the target grid.
    B_int : (trg_nphi, trg_ntheta, 3) field of the inside currents on the target grid.
    outside, inside : currents outside and inside the surface; `magnetic_field` gives their field at
        other points.
    """

    name: str
    nfp: int
    half_period: bool
    digits: int
    X: Float[np.ndarray, "nphi ntheta 3"]
    B: Float[np.ndarray, "src_nphi src_ntheta 3"]
    B_ext: Float[np.ndarray, "trg_nphi trg_ntheta 3"]
    B_int: Float[np.ndarray, "trg_nphi trg_ntheta 3"]
    outside: tuple[Source, ...]
    inside: tuple[Source, ...]

    @property
    def trg_nphi(self) -> int:
        """Return the number of toroidal points of the target grid."""
        return self.B_ext.shape[0]

    @property
    def trg_ntheta(self) -> int:
        """Return the number of poloidal points of the target grid."""
        return self.B_ext.shape[1]

    @cached_property
    def grad_B_ext(self) -> Float[np.ndarray, "trg_nphi trg_ntheta 3 3"]:
        """Return the gradient [..., i, k] = d_i B_k of the external field, at the targets."""
        return self._gradient(self.outside)

    @cached_property
    def grad_B_int(self) -> Float[np.ndarray, "trg_nphi trg_ntheta 3 3"]:
        """Return the gradient [..., i, k] = d_i B_k of the internal field, at the targets."""
        return self._gradient(self.inside)

    def external_error(self, B_external) -> float:
        """Return the largest error of `B_external`, divided by the largest |component| of `B`.

        The field is (trg_nphi, trg_ntheta, 3); other shapes raise a `VcjaxError`.
        """
        return self._error("external_error", B_external, self.B_ext, self.B)

    def internal_error(self, B_internal) -> float:
        """Return the largest error of `B_internal`, divided by the largest |component| of `B`.

        The field is (trg_nphi, trg_ntheta, 3); other shapes raise a `VcjaxError`.
        """
        return self._error("internal_error", B_internal, self.B_int, self.B)

    def external_gradient_error(self, gradient) -> float:
        """Return the largest error of an external gradient, divided by the largest entry of grad B.

        The gradient is (trg_nphi, trg_ntheta, 3, 3); other shapes raise a `VcjaxError`.
        """
        total = self.grad_B_ext + self.grad_B_int
        return self._error("external_gradient_error", gradient, self.grad_B_ext, total)

    def internal_gradient_error(self, gradient) -> float:
        """Return the largest error of an internal gradient, divided by the largest entry of grad B.

        The gradient is (trg_nphi, trg_ntheta, 3, 3); other shapes raise a `VcjaxError`.
        """
        total = self.grad_B_ext + self.grad_B_int
        return self._error("internal_gradient_error", gradient, self.grad_B_int, total)

    def _gradient(self, sources):
        nphi, ntheta = self.B_ext.shape[:2]
        points = surface_points(
            self.X, nfp=self.nfp, half_period=self.half_period, nphi=nphi, ntheta=ntheta
        )
        gradient = magnetic_field_gradient(sources, points)
        gradient.setflags(write=False)
        return gradient

    def _error(self, call, field, known, total):
        field = np.asarray(field)
        if field.shape != known.shape:
            raise VcjaxError(
                f"Problem.{call} got values of shape {field.shape}; give values of shape "
                f"{known.shape}, on the target grid of the problem {self.name}."
            )
        return float(np.abs(field - known).max() / np.abs(total).max())


def magnetic_field(
    sources: Iterable[Source], points: Float[np.ndarray, "*shape 3"]
) -> Float[np.ndarray, "*shape 3"]:
    """Return the magnetic field of currents at given points, accurate to rounding.

    Parameters
    ----------
    sources : closed filaments and central conductors; their currents are mu_0 I / (4 pi).
    points : (..., 3) Cartesian points, not on any current.

    Returns
    -------
    (..., 3) Cartesian components, in the unit of mu_0 I divided by the unit of length.

    Raises
    ------
    VcjaxError : if `points` has a wrong type or shape, or if a point is not finite, or lies on a
        current or next to it.
    """
    kernels = biot_savart, CentralConductor.field
    return _summed("problems.magnetic_field", sources, points, (3,), *kernels)


def magnetic_field_gradient(
    sources: Iterable[Source], points: Float[np.ndarray, "*shape 3"]
) -> Float[np.ndarray, "*shape 3 3"]:
    """Return the gradient of the magnetic field of currents, accurate to rounding.

    Parameters and errors are the same as for `magnetic_field`.

    Returns
    -------
    (..., 3, 3) with [..., i, k] = d_i B_k, in the unit of mu_0 I divided by the square of the unit
    of length.
    """
    kernels = biot_savart_gradient, CentralConductor.gradient
    return _summed("problems.magnetic_field_gradient", sources, points, (3, 3), *kernels)


def _summed(call, sources, points, shape, of_filaments, of_conductor):
    """Return the sum of the fields or gradients of all sources; each value has the given shape."""
    sources = tuple(sources)
    targets = _targets(call, sources, points)
    total = np.zeros((len(targets), *shape))
    closed = tuple(source for source in sources if not isinstance(source, CentralConductor))
    if closed:
        total += of_filaments(closed, targets)
    for source in sources:
        if isinstance(source, CentralConductor):
            total += of_conductor(source, targets)
    return total.reshape(*points.shape[:-1], *shape)


def _targets(call, sources, points):
    """Return the points as a float64 array (n, 3), or raise an error that begins with `call`."""
    if not isinstance(points, np.ndarray | jax.Array) or isinstance(points, Tracer):
        raise VcjaxError(
            f"{call} got points of type {type(points).__name__}; give an array (..., 3), for "
            "example numpy.asarray(points), and call outside jit, grad and vmap."
        )
    if points.ndim == 0 or points.shape[-1] != 3 or points.size == 0:
        raise VcjaxError(
            f"{call} got points of shape {points.shape}; give an array (..., 3) of at least one "
            "point, with Cartesian components along the last axis."
        )
    if points.dtype.kind not in "fiu":
        raise VcjaxError(f"{call} got points of dtype {points.dtype}; give real numbers.")
    targets = np.asarray(points, dtype=float).reshape(-1, 3)
    if not np.isfinite(targets).all():
        raise VcjaxError(
            f"{call} got points with NaN or infinite coordinates "
            f"({int((~np.isfinite(targets)).any(axis=1).sum())} of {len(targets)}). Leave such "
            "points out."
        )
    on_axis = np.hypot(targets[:, 0], targets[:, 1]) < _AXIS
    if on_axis.any() and any(isinstance(source, CentralConductor) for source in sources):
        raise VcjaxError(
            f"{call} got points on the z axis ({int(on_axis.sum())} of {len(targets)}), where the "
            "field of a CentralConductor is infinite. Leave such points out."
        )
    return targets


def known_problem(
    name: str,
    X: Float[np.ndarray, "nphi ntheta 3"],
    *,
    nfp: int,
    half_period: bool,
    digits: int,
    outside: Iterable[Source],
    inside: Iterable[Source],
    src_shape: tuple[int, int],
    trg_shape: tuple[int, int],
) -> Problem:
    """Make a problem from a surface, and from currents outside and inside the surface.

    The currents must have the symmetry of the grids: `nfp` field periods, and stellarator symmetry
    if the grids cover half a period. This is not checked.

    Parameters
    ----------
    name : name of the problem.
    X : (nphi, ntheta, 3) Cartesian points of the surface, in any length unit.
    nfp : number of field periods.
    half_period : whether the grids cover half a field period; see `vcjax.choose`.
    digits : accuracy that the source grid is designed for; only stored in the result.
    outside, inside : currents outside and inside the surface, with lengths in the unit of X.
    src_shape, trg_shape : (nphi, ntheta) of the source grid and of the target grid.

    Raises
    ------
    VcjaxError : if X is not a closed surface, if `nfp`, `half_period` or a size is invalid, or if a
        point of the source or target grid lies on a current or next to it.
    """
    call = "problems.known_problem"
    shapes = (check_shape(call, "src_shape", src_shape), check_shape(call, "trg_shape", trg_shape))
    with errors_named(call):
        src, trg = (
            surface_points(X, nfp=nfp, half_period=half_period, nphi=nphi, ntheta=ntheta)
            for nphi, ntheta in shapes
        )
    outside, inside = tuple(outside), tuple(inside)
    arrays: dict[str, Any] = dict(
        X=np.array(X),
        B=magnetic_field((*outside, *inside), src),
        B_ext=magnetic_field(outside, trg),
        B_int=magnetic_field(inside, trg),
    )
    for array in arrays.values():
        array.setflags(write=False)
    return Problem(name, nfp, half_period, digits, **arrays, outside=outside, inside=inside)
