"""Virtual casing problems with known currents outside and inside the surface."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import jax
import numpy as np
from jax.core import Tracer
from jaxtyping import Float

from vcjax._errors import VcjaxError
from vcjax._geometry.surface import surface_points
from vcjax.problems._filaments import (
    CentralConductor,
    Filament,
    biot_savart,
    biot_savart_gradient,
)

Source = Filament | CentralConductor
_AXIS = 1e-50
"""Closer to a straight current than this, powers of the distance overflow."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A surface, the total field on it, and the external and internal parts to be found.

    All arrays are read-only and Cartesian, component last. ``src`` and ``trg`` are the source and
    target grids over the same full or half field period as `X`; their points lie on the smooth
    surface through `X` (`vcjax.surface_points`).

    Attributes
    ----------
    name : name of the problem.
    nfp : number of field periods.
    half_period : whether the grids cover half a field period.
    digits : accuracy that the source grid is designed for.
    X : (nphi, ntheta, 3) points of the surface.
    B : (src_nphi, src_ntheta, 3) total field.
    B_ext : (trg_nphi, trg_ntheta, 3) field of the outside currents.
    B_int : (trg_nphi, trg_ntheta, 3) field of the inside currents.
    outside, inside : the currents, for `magnetic_field` at other points.
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
        """Return the gradient [..., i, k] = d_i B_k of the external field, computed once."""
        return self._gradient(self.outside)

    @cached_property
    def grad_B_int(self) -> Float[np.ndarray, "trg_nphi trg_ntheta 3 3"]:
        """Return the gradient [..., i, k] = d_i B_k of the internal field, computed once."""
        return self._gradient(self.inside)

    def external_error(self, B_external) -> float:
        """Return the largest error of an external field over the largest component of B."""
        return self._error("external_error", B_external, self.B_ext, self.B)

    def internal_error(self, B_internal) -> float:
        """Return the largest error of an internal field over the largest component of B."""
        return self._error("internal_error", B_internal, self.B_int, self.B)

    def external_gradient_error(self, gradient) -> float:
        """Return the largest error of an external gradient over the largest entry of grad B."""
        total = self.grad_B_ext + self.grad_B_int
        return self._error("external_gradient_error", gradient, self.grad_B_ext, total)

    def internal_gradient_error(self, gradient) -> float:
        """Return the largest error of an internal gradient over the largest entry of grad B."""
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
                f"Problem.{call} got a field of shape {field.shape}; "
                f"give {known.shape}, the target grid of {self.name}."
            )
        return float(np.abs(field - known).max() / np.abs(total).max())


def magnetic_field(
    sources: Sequence[Source], points: Float[np.ndarray, "*shape 3"]
) -> Float[np.ndarray, "*shape 3"]:
    """Return the magnetic field of currents, accurate to rounding.

    Parameters
    ----------
    sources : closed filaments and central conductors, currents given as mu_0 I / (4 pi).
    points : (..., 3) Cartesian points, not on any current.

    Returns
    -------
    (..., 3) Cartesian components, in the unit of current over length.

    Raises
    ------
    VcjaxError : if the points have a bad type or shape, are not finite, or lie on a current.
    """
    targets = _targets("problems.magnetic_field", sources, points)
    field = np.zeros_like(targets)
    closed = tuple(source for source in sources if not isinstance(source, CentralConductor))
    if closed:
        field += biot_savart(closed, targets)
    for source in sources:
        if isinstance(source, CentralConductor):
            field += source.field(targets)
    return field.reshape(points.shape)


def magnetic_field_gradient(
    sources: Sequence[Source], points: Float[np.ndarray, "*shape 3"]
) -> Float[np.ndarray, "*shape 3 3"]:
    """Return the gradient of the field of currents, accurate to rounding; see `magnetic_field`.

    Returns
    -------
    (..., 3, 3) with [..., i, k] = d_i B_k, in the unit of current over length squared.

    Raises
    ------
    VcjaxError : as `magnetic_field`.
    """
    targets = _targets("problems.magnetic_field_gradient", sources, points)
    gradient = np.zeros((len(targets), 3, 3))
    closed = tuple(source for source in sources if not isinstance(source, CentralConductor))
    if closed:
        gradient += biot_savart_gradient(closed, targets)
    for source in sources:
        if isinstance(source, CentralConductor):
            gradient += source.gradient(targets)
    return gradient.reshape(*points.shape, 3)


def _targets(call, sources, points):
    """Return the checked points as (n, 3) float64."""
    if not isinstance(points, np.ndarray | jax.Array) or isinstance(points, Tracer):
        raise VcjaxError(
            f"{call} got points of type {type(points).__name__}; give an array (..., 3) outside "
            "jit, grad and vmap, for example numpy.asarray(points)."
        )
    if points.ndim == 0 or points.shape[-1] != 3 or points.size == 0:
        raise VcjaxError(
            f"{call} got points of shape {points.shape}; give (..., 3), at least one point: "
            "Cartesian components last."
        )
    if points.dtype.kind not in "fiu":
        raise VcjaxError(f"{call} got points of dtype {points.dtype}; give real numbers.")
    targets = np.asarray(points, dtype=float).reshape(-1, 3)
    if not np.isfinite(targets).all():
        raise VcjaxError(f"{call} got points that are NaN or infinite; leave them out.")
    on_axis = np.hypot(targets[:, 0], targets[:, 1]) < _AXIS
    if on_axis.any() and any(isinstance(source, CentralConductor) for source in sources):
        raise VcjaxError(
            f"{call} got {int(on_axis.sum())} points on the z axis, the current of a "
            "CentralConductor, where the field has no limit. Leave such points out."
        )
    return targets


def known_problem(
    name: str,
    X: Float[np.ndarray, "nphi ntheta 3"],
    *,
    nfp: int,
    half_period: bool,
    digits: int,
    outside: Sequence[Source],
    inside: Sequence[Source],
    src_shape: tuple[int, int],
    trg_shape: tuple[int, int],
) -> Problem:
    """Make a problem from any surface with any currents outside and inside.

    The currents must respect the symmetry of the grid: nfp, and stellarator symmetry for a half
    period.

    Parameters
    ----------
    name, digits : labels.
    X : (nphi, ntheta, 3) points of the surface.
    nfp, half_period : symmetry, and whether X covers half a field period.
    outside, inside : the currents.
    src_shape, trg_shape : (nphi, ntheta) of the source and target grids.
    """
    src, trg = (
        surface_points(X, nfp=nfp, half_period=half_period, nphi=nphi, ntheta=ntheta)
        for nphi, ntheta in (src_shape, trg_shape)
    )
    X = X.copy()
    total = magnetic_field((*outside, *inside), src)
    b_ext, b_int = magnetic_field(outside, trg), magnetic_field(inside, trg)
    for array in (X, total, b_ext, b_int):
        array.setflags(write=False)
    return Problem(
        name,
        nfp,
        half_period,
        digits,
        X=X,
        B=total,
        B_ext=b_ext,
        B_int=b_int,
        outside=tuple(outside),
        inside=tuple(inside),
    )
