"""Replace the class of the C++ package ``virtual_casing``; arrays are flat and component-first."""

from collections.abc import Callable, Sequence

import numpy as np
from jax.core import Tracer

from vcjax import (
    OffSurface,
    VcjaxError,
    external_field,
    external_gradient,
    field_at,
    internal_field,
    internal_gradient,
)
from vcjax._annotations import Float
from vcjax._errors import errors_named
from vcjax.interfaces._estimate import verify_quadrature, warn_of_estimate
from vcjax.interfaces._surface_setup import (
    SurfaceSetup,
    check_shape,
    check_targets,
    concrete,
    point_major,
    required,
)

_NAMES = {
    "got B ": "got B_total ",
    "got points ": "got Xt ",
    "nfp nphi": "NFP Nt",
    "nfp": "NFP",
}
"""Replacements in error messages, because `VirtualCasing` names arguments differently."""
Flat = Sequence[float] | np.ndarray
"""Numbers in the order x11, x12, ..., x1Np, x21, ..., xNtNp, y11, ..., zNtNp, with the toroidal
index first."""


class VirtualCasing:
    """The separation of fields on a surface into the fields of the currents outside and inside.

    This class replaces ``virtual_casing.VirtualCasing``, version 0.3. Names, arguments and the
    order of arrays are the same. Results are NumPy arrays, not lists. The quadrature is chosen for
    the first field, and again for a field that needs a finer quadrature. Therefore `setup` is fast,
    and the first evaluation takes longer than most later evaluations. Invalid arguments raise
    `VcjaxError`. An `AccuracyWarning` is issued if an estimated error is more than ten times
    10^-digits. For fields on the surface, this estimate is the error of the quadrature for a known
    field. Errors of gradients are not estimated. Additional methods return the internal gradient
    and the normals.

    Examples
    --------
    >>> casing = VirtualCasing()
    >>> casing.setup(6, 5, True, 10, 20, X, 36, 192, 20, 40)  # doctest: +SKIP
    >>> B_ext = casing.compute_external_B(B)  # doctest: +SKIP
    """

    _setup: SurfaceSetup | None = None

    def setup(
        self,
        digits: int,
        NFP: int,
        half_period: bool,
        Nt: int,
        Np: int,
        X: Flat,
        src_Nt: int,
        src_Np: int,
        trg_Nt: int = -1,
        trg_Np: int = -1,
    ) -> None:
        """Set the surface, its symmetry and its grids.

        Parameters
        ----------
        digits : accuracy, 1 to 13.
        NFP : number of field periods.
        half_period : whether the grids cover half a period of a stellarator-symmetric
            configuration. Row i of a grid with n rows is then at phi = (i + 1/2) pi / (NFP n). If
            False, the grids cover a whole period from phi = 0.
        Nt, Np : numbers of toroidal and poloidal points of the surface.
        X : (3 Nt Np,) coordinates of the surface, any length unit.
        src_Nt, src_Np : numbers of points of the fields.
        trg_Nt, trg_Np : numbers of points of the results; -1 means the same as the fields.

        Raises
        ------
        VcjaxError : if an argument is invalid, or if the surface is not closed.
        """
        shape = check_shape(Nt=Nt, Np=Np)
        src = check_shape(src_Nt=src_Nt, src_Np=src_Np)
        trg = check_targets(src, trg_Nt=trg_Nt, trg_Np=trg_Np)
        surface = point_major("setup", "X", _untraced("setup", "X", X), shape)
        with errors_named("setup", _NAMES):
            self._setup = SurfaceSetup(digits, NFP, half_period, surface, src, trg)

    def compute_external_B(self, B_total: Flat) -> Float[np.ndarray, " flat"]:
        """Return the field of the currents outside the surface, at the targets.

        Parameters
        ----------
        B_total : (3 src_Nt src_Np,) total field on the source grid, any unit.

        Returns
        -------
        (3 trg_Nt trg_Np,) field, in the unit of B_total.

        Raises
        ------
        VcjaxError : if `setup` was not called, or if B_total is invalid.
        """
        return self._field("compute_external_B", external_field, B_total)

    def compute_internal_B(self, B_total: Flat) -> Float[np.ndarray, " flat"]:
        """Return the field of the currents inside the surface, at the targets.

        Parameters, shapes, units and errors are the same as for `compute_external_B`.
        """
        return self._field("compute_internal_B", internal_field, B_total)

    def compute_external_B_offsurf(self, B_total: Flat, Xt: Flat) -> Float[np.ndarray, " flat"]:
        """Return the field of the currents outside the surface, at points inside it.

        Parameters
        ----------
        B_total : (3 src_Nt src_Np,) total field on the source grid, any unit.
        Xt : (3 n,) points in the order x1, ..., xn, y1, ..., zn, in the unit of the surface.

        Returns
        -------
        (3 n,) field, in the unit of B_total. At points outside, the data do not determine the
        field, and the result is NaN. The C++ package returns minus the internal field there.

        Raises
        ------
        VcjaxError : if `setup` was not called, or if B_total or Xt is invalid.
        """
        return _flat(self._at("compute_external_B_offsurf", B_total, Xt).external)

    def compute_internal_B_offsurf(self, B_total: Flat, Xt: Flat) -> Float[np.ndarray, " flat"]:
        """Return the field of the currents inside the surface, at points outside it.

        The result is NaN at points inside. Parameters, shapes, units and errors are the same as for
        `compute_external_B_offsurf`.
        """
        return _flat(self._at("compute_internal_B_offsurf", B_total, Xt).internal)

    def compute_external_gradB(self, B_total: Flat) -> Float[np.ndarray, " flat"]:
        """Return the gradient of the field of the currents outside the surface, at the targets.

        Parameters and errors are the same as for `compute_external_B`.

        Returns
        -------
        (9 trg_Nt trg_Np,) numbers d_i B_k, in the unit of B_total over the unit of X. The slowest
        index is k, followed by i and the points.
        """
        return self._gradient("compute_external_gradB", external_gradient, B_total)

    def compute_internal_gradB(self, B_total: Flat) -> Float[np.ndarray, " flat"]:
        """Return the gradient of the field of the currents inside the surface, at the targets.

        The C++ package has no such method. Parameters, shapes, units and errors are the same as for
        `compute_external_gradB`.
        """
        return self._gradient("compute_internal_gradB", internal_gradient, B_total)

    def get_normal(self) -> Float[np.ndarray, " flat"]:
        """Return outward unit normals of the surface at the targets, (3 trg_Nt trg_Np,).

        Raises
        ------
        VcjaxError : if `setup` was not called.
        """
        return _flat(required(self._setup, "get_normal").unit_normal("get_normal"))

    def _field(self, call: str, evaluate: Callable, B_total: Flat) -> np.ndarray:
        setup, B = self._given(call, B_total)
        with errors_named(call, _NAMES), concrete():
            casing = setup.casing("field", B)
            verify_quadrature(call, setup, casing, evaluate)
            return _flat(evaluate(casing, B))

    def _gradient(self, call: str, evaluate: Callable, B_total: Flat) -> np.ndarray:
        setup, B = self._given(call, B_total)
        with errors_named(call, _NAMES), concrete():
            gradient = np.asarray(evaluate(setup.casing("gradient", B), B))
        return gradient.transpose(3, 2, 0, 1).ravel()

    def _at(self, call: str, B_total: Flat, Xt: Flat) -> OffSurface:
        setup, B = self._given(call, B_total)
        points = point_major(call, "Xt", _untraced(call, "Xt", Xt), flat_only=True)[0]
        with errors_named(call, _NAMES), concrete():
            found = field_at(setup.casing("off", B), B, points)
            warn_of_estimate(call, float(np.max(found.error)), setup.digits)
            return found

    def _given(self, call: str, B_total: Flat) -> tuple[SurfaceSetup, np.ndarray]:
        setup = required(self._setup, call)
        B_total = _untraced(call, "B_total", B_total)
        return setup, point_major(call, "B_total", B_total, setup.src_shape)


def _untraced(call: str, name: str, values: Flat) -> Flat:
    """Return the values; raise `VcjaxError` if they are traced by JAX."""
    if isinstance(values, Tracer):
        raise VcjaxError(
            f"{call} got {name} traced by JAX; VirtualCasing computes with NumPy arrays. Inside "
            "jit and grad, use VirtualCasingJAX, or functions such as vcjax.external_field."
        )
    return values


def _flat(values) -> np.ndarray:
    """Flatten vectors (..., 3): all x components first, then all y, then all z."""
    return np.moveaxis(np.asarray(values), -1, 0).ravel()
