"""Drop-in for the class of the C++ package ``virtual_casing``: flat, component-first arrays."""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float

from vcjax import (
    OffSurface,
    VcjaxError,
    external_field,
    external_gradient,
    field_at,
    internal_field,
    internal_gradient,
)
from vcjax._errors import told_by
from vcjax.interfaces._surface_setup import (
    SurfaceSetup,
    check_shape,
    check_targets,
    real_array,
    required,
)

Flat = Sequence[float] | np.ndarray
"""Numbers in the order x11, x12, ..., x1Np, x21, ..., xNtNp, y11, ..., zNtNp."""


class VirtualCasing:
    """Separate the magnetic field on a surface by its sources; ``virtual_casing.VirtualCasing``.

    ``from vcjax.interfaces import VirtualCasing`` in place of ``from virtual_casing import
    VirtualCasing``. Names, arguments and the order of all arrays are those of the C++ package,
    version 0.3. Differences: results are NumPy arrays, not lists; the quadrature follows the field,
    so that `setup` is quick and the first evaluation takes longer; what cannot be computed is
    refused instead of answered; the internal gradient exists.

    Examples
    --------
    >>> casing = VirtualCasing()
    >>> casing.setup(6, 5, True, 10, 20, X, 36, 192, 20, 40)  # doctest: +SKIP
    >>> B_ext = casing.compute_external_B(B)  # doctest: +SKIP
    """

    def __init__(self) -> None:
        self._setup: SurfaceSetup | None = None

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
        """Set the surface, its symmetry and the grids.

        Parameters
        ----------
        digits : wanted accuracy, 1 to 13.
        NFP : number of field periods.
        half_period : grids cover half a period of a stellarator-symmetric configuration, at
            phi = (i + 1/2) pi / (NFP Nt); otherwise a whole period, from phi = 0.
        Nt, Np : toroidal and poloidal points of the surface.
        X : (3 Nt Np,) coordinates of the surface, any length unit.
        src_Nt, src_Np : grid of the fields to come.
        trg_Nt, trg_Np : grid of the results, -1 for that of the fields.

        Raises
        ------
        VcjaxError : for a surface that cannot be used.
        """
        shape = check_shape("setup", Nt=Nt, Np=Np)
        src = check_shape("setup", src_Nt=src_Nt, src_Np=src_Np)
        trg = check_targets("setup", src, trg_Nt=trg_Nt, trg_Np=trg_Np)
        surface = _vectors("setup", "X", X, shape)
        self._setup = SurfaceSetup(digits, NFP, half_period, surface, src, trg)

    def compute_external_B(self, B_total: Flat) -> Float[np.ndarray, " flat"]:
        """Field of the currents outside, (3 trg_Nt trg_Np,), from the total field on the source
        grid, (3 src_Nt src_Np,)."""
        return self._field("compute_external_B", external_field, B_total)

    def compute_internal_B(self, B_total: Flat) -> Float[np.ndarray, " flat"]:
        """Field of the currents inside, (3 trg_Nt trg_Np,); see `compute_external_B`."""
        return self._field("compute_internal_B", internal_field, B_total)

    def compute_external_B_offsurf(self, B_total: Flat, Xt: Flat) -> Float[np.ndarray, " flat"]:
        """Field of the currents outside at any points inside the surface.

        Parameters
        ----------
        B_total : (3 src_Nt src_Np,) total field on the source grid.
        Xt : (3 n,) points x1, ..., xn, y1, ..., zn.

        Returns
        -------
        (3 n,) field; NaN at points outside, where the data do not tell it (the C++ package gives
        the internal field with its sign turned there).
        """
        return _flat(self._at("compute_external_B_offsurf", B_total, Xt).external)

    def compute_internal_B_offsurf(self, B_total: Flat, Xt: Flat) -> Float[np.ndarray, " flat"]:
        """Field of the currents inside at any points outside the surface, NaN at points inside."""
        return _flat(self._at("compute_internal_B_offsurf", B_total, Xt).internal)

    def compute_external_gradB(self, B_total: Flat) -> Float[np.ndarray, " flat"]:
        """Gradient of the field of the currents outside.

        Returns
        -------
        (9 trg_Nt trg_Np,) d_i B_k, with k the slowest index, then i, then the points.
        """
        return self._gradient("compute_external_gradB", external_gradient, B_total)

    def compute_internal_gradB(self, B_total: Flat) -> Float[np.ndarray, " flat"]:
        """Gradient of the field of the currents inside; the C++ package has none."""
        return self._gradient("compute_internal_gradB", internal_gradient, B_total)

    def get_normal(self) -> Float[np.ndarray, " flat"]:
        """Outward unit normals on the target grid, (3 trg_Nt trg_Np,)."""
        return _flat(required(self._setup, "get_normal").unit_normal("get_normal"))

    def _field(self, call: str, evaluate: Callable, B_total: Flat) -> np.ndarray:
        setup, B = self._given(call, B_total)
        with told_by(call):
            return _flat(evaluate(setup.casing("field", B), B))

    def _gradient(self, call: str, evaluate: Callable, B_total: Flat) -> np.ndarray:
        setup, B = self._given(call, B_total)
        with told_by(call):
            gradient = np.asarray(evaluate(setup.casing("gradient", B), B))
        return gradient.transpose(3, 2, 0, 1).ravel()

    def _at(self, call: str, B_total: Flat, Xt: Flat) -> OffSurface:
        setup, B = self._given(call, B_total)
        count = max(1, real_array(call, "Xt", Xt).size // 3)
        points = _vectors(call, "Xt", Xt, (1, count))[0]
        with told_by(call):
            return field_at(setup.casing("off", B), B, points)

    def _given(self, call: str, B_total: Flat) -> tuple[SurfaceSetup, np.ndarray]:
        setup = required(self._setup, call)
        return setup, _vectors(call, "B_total", B_total, setup.src_shape)


def _flat(values) -> np.ndarray:
    """(nphi, ntheta, 3) as a flat, component-first array."""
    return np.moveaxis(np.asarray(values), -1, 0).ravel()


def _vectors(call: str, name: str, flat: Flat, shape: tuple[int, int]) -> np.ndarray:
    """A flat, component-first array as (nphi, ntheta, 3)."""
    values = np.asarray(real_array(call, name, flat), dtype=float)
    if values.shape != (3 * shape[0] * shape[1],):
        raise VcjaxError(
            f"{call} got {name} of shape {values.shape}; give ({3 * shape[0] * shape[1]},): a flat "
            f"array, component first, of 3 x {shape[0]} x {shape[1]} numbers."
        )
    return np.moveaxis(values.reshape(3, *shape), 0, -1)
