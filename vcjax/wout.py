"""Read VMEC equilibria: the plasma boundary and the magnetic field on it.

VMEC writes Fourier series in the angle m theta - n phi, with n a multiple of the number of field
periods [1]_. The boundary is given by R (a cosine series) and Z (a sine series). The field is given
by its contravariant components B^theta and B^phi (cosine series), halfway between flux surfaces.

References
----------
.. [1] S. P. Hirshman and J. C. Whitson, Steepest-descent moment method for three-dimensional
   magnetohydrodynamic equilibria, Physics of Fluids 26 (1983) 3553.
"""

from dataclasses import dataclass
from math import ceil
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from vcjax._annotations import Float
from vcjax._casing import Casing, prepare
from vcjax._checks import check_angles, check_grid
from vcjax._errors import errors_named
from vcjax._files import read_variables
from vcjax._geometry.surface import outward_normals
from vcjax._quadrature.choose import choose


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """The boundary of a stellarator-symmetric VMEC equilibrium, and the magnetic field on it.

    Attributes
    ----------
    nfp : number of field periods.
    m, n : (k,) mode numbers of the boundary; n is a multiple of nfp.
    r_cos, z_sin : (k,) cosine coefficients of R and sine coefficients of Z, in m.
    m_field, n_field : (l,) mode numbers of the field.
    b_theta_cos, b_phi_cos : (l,) cosine coefficients of B^theta and B^phi on the boundary, in T/m.
    """

    nfp: int
    m: Float[np.ndarray, " k"]
    n: Float[np.ndarray, " k"]
    r_cos: Float[np.ndarray, " k"]
    z_sin: Float[np.ndarray, " k"]
    m_field: Float[np.ndarray, " l"]
    n_field: Float[np.ndarray, " l"]
    b_theta_cos: Float[np.ndarray, " l"]
    b_phi_cos: Float[np.ndarray, " l"]

    def boundary(
        self, nphi: int, ntheta: int, *, half_period: bool = True
    ) -> Float[np.ndarray, "nphi ntheta 3"]:
        """Return points of the plasma boundary on a grid over a half or full field period.

        Parameters
        ----------
        nphi, ntheta : numbers of toroidal and poloidal points.
        half_period : True for a grid over half a field period, with row i at
            phi = (i + 1/2) pi / (nfp nphi). False for a grid over a full field period, with row i
            at phi = 2 pi i / (nfp nphi).

        Returns
        -------
        (nphi, ntheta, 3) Cartesian points, in m.

        Raises
        ------
        VcjaxError : if nphi or ntheta is not an integer from 1 to 100000, or if half_period is
            neither True nor False.
        """
        return self._frame("boundary", nphi, ntheta, half_period)[2]

    def field(
        self, nphi: int, ntheta: int, *, half_period: bool = True
    ) -> Float[np.ndarray, "nphi ntheta 3"]:
        """Return the total field B^theta dX/dtheta + B^phi dX/dphi at the points X of `boundary`.

        Parameters and errors are the same as for `boundary`.

        Returns
        -------
        (nphi, ntheta, 3) Cartesian components, in T.
        """
        frame = self._frame("field", nphi, ntheta, half_period)
        phi, theta, _, along_phi, along_theta = frame
        cosine = np.cos(_phase(self.m_field, self.n_field, phi, theta))
        b_theta, b_phi = cosine @ self.b_theta_cos, cosine @ self.b_phi_cos
        return b_theta[..., None] * along_theta + b_phi[..., None] * along_phi

    def unit_normal(
        self, nphi: int, ntheta: int, *, half_period: bool = True
    ) -> Float[np.ndarray, "nphi ntheta 3"]:
        """Return outward unit normals at the points of `boundary`.

        Parameters and errors are the same as for `boundary`.

        Returns
        -------
        (nphi, ntheta, 3) Cartesian components.
        """
        # A few points do not show which side is outside, so add columns between the points.
        ntheta = check_grid("Equilibrium.unit_normal", "ntheta", ntheta)
        copies = ceil(self.exact_grid()[1] / ntheta)
        frame = self._frame("unit_normal", nphi, copies * ntheta, half_period)
        return outward_normals(*frame[2:])[:, ::copies]

    def tangents(
        self, nphi: int, ntheta: int, *, half_period: bool = True
    ) -> tuple[Float[np.ndarray, "nphi ntheta 3"], Float[np.ndarray, "nphi ntheta 3"]]:
        """Return dX/dphi and dX/dtheta at the points of `boundary`, in m per radian.

        Parameters and errors are the same as for `boundary`.

        Returns
        -------
        along_phi, along_theta : (nphi, ntheta, 3) Cartesian components each.
        """
        return self._frame("tangents", nphi, ntheta, half_period)[3:]

    def exact_grid(self, *, half_period: bool = True) -> tuple[int, int]:
        """Return (nphi, ntheta) of a small grid that resolves boundary and field exactly.

        The field is a sum of products of two Fourier series, so their mode numbers add up.
        Cartesian components add one more mode in phi.

        Parameters
        ----------
        half_period : whether the grid covers half a field period instead of a full period.
        """
        m = self.m.max() + self.m_field.max()
        n = np.abs(self.n).max() + np.abs(self.n_field).max()
        nphi = int((n + 1) // self.nfp + 1)
        return nphi if half_period else 2 * nphi, int(2 * m + 2)

    def _frame(self, call, nphi, ntheta, half_period):
        """Return the angles phi and theta of a grid, and X, dX/dphi and dX/dtheta at its points."""
        phi, theta = check_angles(f"Equilibrium.{call}", nphi, ntheta, self.nfp, half_period)
        phase = _phase(self.m, self.n, phi, theta)
        cosine, sine = np.cos(phase), np.sin(phase)
        out = np.stack([np.cos(phi), np.sin(phi), 0 * phi], axis=1)[:, None]
        turn = np.stack([-np.sin(phi), np.cos(phi), 0 * phi], axis=1)[:, None]
        up = np.array([0.0, 0.0, 1.0])

        def vector(radial, vertical):
            return radial[..., None] * out + vertical[..., None] * up

        radius = cosine @ self.r_cos
        points = vector(radius, sine @ self.z_sin)
        along_phi = vector(sine @ (self.n * self.r_cos), -cosine @ (self.n * self.z_sin))
        along_theta = vector(-sine @ (self.m * self.r_cos), cosine @ (self.m * self.z_sin))
        return phi, theta, points, along_phi + radius[..., None] * turn, along_theta


def _phase(m, n, phi, theta):
    """Return the angles m theta - n phi, shape (nphi, ntheta, modes)."""
    return np.multiply.outer(theta, m)[None] - np.multiply.outer(phi, n)[:, None]


def tokamak_path() -> Path:
    """Return the path of the wout file in this package.

    The file describes a tokamak of negative triangularity: the straight side of the D is at large
    R. The major radius is 6 m, the field 5 T, and beta 3 %.
    """
    return Path(__file__).with_name("data") / "wout_tokamak.nc"


def read_wout(path: str | PathLike[str]) -> Equilibrium:
    """Read a VMEC output file ``wout_*.nc`` in NetCDF-3, the format that VMEC writes.

    Parameters
    ----------
    path : path of the file.

    Returns
    -------
    Equilibrium : the plasma boundary and the field on it, in SI units.

    Raises
    ------
    VcjaxError : in any of these cases

        - The file is missing, truncated, not NetCDF-3, or not a VMEC output.
        - The equilibrium is not stellarator-symmetric, or has fewer than 3 flux surfaces.
        - The numbers in the file cannot describe an equilibrium.

    Warns
    -----
    ContradictionWarning : if VMEC stopped before the equilibrium converged.
    """
    data = read_variables(path)
    # The field is given half a radial step inside each surface: extrapolate it to the boundary.
    edge = {name: 1.5 * data[name][-1] - 0.5 * data[name][-2] for name in ("bsupumnc", "bsupvmnc")}
    return Equilibrium(
        nfp=int(data["nfp"]),
        m=data["xm"],
        n=data["xn"],
        r_cos=data["rmnc"][-1],
        z_sin=data["zmns"][-1],
        m_field=data["xm_nyq"],
        n_field=data["xn_nyq"],
        b_theta_cos=edge["bsupumnc"],
        b_phi_cos=edge["bsupvmnc"],
    )


def from_wout(
    path: str | PathLike[str],
    digits: int,
    *,
    trg_nphi: int,
    trg_ntheta: int,
    half_period: bool = True,
) -> tuple[Casing, Float[np.ndarray, "src_nphi src_ntheta 3"]]:
    """Read a VMEC equilibrium, choose the quadrature and prepare the plasma boundary.

    Evaluate the external field with ``vcjax.external_field(*from_wout(...))``. Boundary and field
    are sampled on the grid of `Equilibrium.exact_grid`.

    Parameters
    ----------
    path : path of a ``wout_*.nc`` file.
    digits : accuracy; see `vcjax.choose`. Equilibria rarely have more than 5 correct digits.
    trg_nphi, trg_ntheta : numbers of toroidal and poloidal targets.
    half_period : whether the grids cover half a field period, with stellarator symmetry, instead
        of a full period.

    Returns
    -------
    casing : the prepared plasma boundary, with lengths in m.
    B : (src_nphi, src_ntheta, 3) total field on the source grid of the casing, in T.

    Raises
    ------
    VcjaxError : for the same reasons as `read_wout`, `vcjax.choose` and `vcjax.prepare`.

    Warns
    -----
    VcjaxWarning : if the equilibrium has fewer correct digits than requested; see `vcjax.choose`.
    """
    with errors_named("wout.from_wout"):
        equilibrium = read_wout(path)
        symmetry: dict[str, Any] = dict(nfp=equilibrium.nfp, half_period=half_period)
        grid = equilibrium.exact_grid(half_period=half_period)
        X = equilibrium.boundary(*grid, half_period=half_period)
        B = equilibrium.field(*grid, half_period=half_period)
        rule = choose(X, B, digits, **symmetry, trg_nphi=trg_nphi, trg_ntheta=trg_ntheta)
        return prepare(rule, X), B
