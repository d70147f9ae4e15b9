"""Read VMEC equilibria: the plasma boundary and the magnetic field on it.

VMEC writes Fourier coefficients in the angle m theta - n phi (n includes the field periods): of the
boundary R (cosine) and Z (sine), and of the contravariant field B^theta, B^phi (cosine) on the half
grid between flux surfaces [1]_.

References
----------
.. [1] S. P. Hirshman and J. C. Whitson, Steepest-descent moment method for three-dimensional
   magnetohydrodynamic equilibria, Physics of Fluids 26 (1983) 3553.
"""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
from jaxtyping import Float

from vcjax._casing import Casing, prepare
from vcjax._checks import check_integer
from vcjax._errors import errors_named
from vcjax._files.wout import read_variables
from vcjax._geometry.resample import grid_angles
from vcjax._geometry.surface import outward_normals
from vcjax._quadrature.choose import choose


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """Boundary and edge field of a stellarator-symmetric VMEC equilibrium.

    Attributes
    ----------
    nfp : number of field periods.
    stellsym : stellarator symmetry, always True: `read_wout` refuses other equilibria.
    m, n : (k,) mode numbers of the boundary; n includes nfp.
    r_cos, z_sin : (k,) coefficients of R and Z, in m.
    m_field, n_field : (l,) mode numbers of the field.
    b_theta_cos, b_phi_cos : (l,) coefficients of B^theta and B^phi at the edge, in T/m.
    """

    nfp: int
    stellsym: bool
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

        Returns
        -------
        (nphi, ntheta, 3) Cartesian points, in m.
        """
        phi, theta = self._grid("boundary", nphi, ntheta, half_period)
        return self._tangents(phi, theta)[0]

    def field(
        self, nphi: int, ntheta: int, *, half_period: bool = True
    ) -> Float[np.ndarray, "nphi ntheta 3"]:
        """Return the total field B = B^theta X_theta + B^phi X_phi at the points of `boundary`.

        Returns
        -------
        (nphi, ntheta, 3) Cartesian components, in T.
        """
        phi, theta = self._grid("field", nphi, ntheta, half_period)
        _, along_phi, along_theta = self._tangents(phi, theta)
        cosine = np.cos(_phase(self.m_field, self.n_field, phi, theta))
        b_theta, b_phi = cosine @ self.b_theta_cos, cosine @ self.b_phi_cos
        return b_theta[..., None] * along_theta + b_phi[..., None] * along_phi

    def unit_normal(
        self, nphi: int, ntheta: int, *, half_period: bool = True
    ) -> Float[np.ndarray, "nphi ntheta 3"]:
        """Return outward unit normals at the points of `boundary`.

        Returns
        -------
        (nphi, ntheta, 3) Cartesian components.
        """
        phi, theta = self._grid("unit_normal", nphi, ntheta, half_period)
        return outward_normals(*self._tangents(phi, theta))

    def tangents(
        self, nphi: int, ntheta: int, *, half_period: bool = True
    ) -> tuple[Float[np.ndarray, "nphi ntheta 3"], Float[np.ndarray, "nphi ntheta 3"]]:
        """Return dX/dphi and dX/dtheta at the points of `boundary`, in m per radian."""
        return self._tangents(*self._grid("tangents", nphi, ntheta, half_period))[1:]

    def exact_grid(self, *, half_period: bool = True) -> tuple[int, int]:
        """Return the smallest (nphi, ntheta) that represent `boundary` and `field` exactly.

        The field is a product of two series, and Cartesian components add one mode in phi.
        """
        m = self.m.max() + self.m_field.max()
        n = np.abs(self.n).max() + np.abs(self.n_field).max()
        nphi = int((n + 1) // self.nfp + 1)
        return nphi if half_period else 2 * nphi, int(2 * m + 2)

    def _grid(self, call, nphi, ntheta, half_period):
        for name, count in (("nphi", nphi), ("ntheta", ntheta)):
            check_integer(f"Equilibrium.{call}", name, count, 1, 100_000)
        theta = 2 * np.pi * np.arange(ntheta) / ntheta
        return grid_angles(nphi, self.nfp, half_period), theta

    def _tangents(self, phi, theta):
        """Return X, dX/dphi, dX/dtheta."""
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
        return points, along_phi + radius[..., None] * turn, along_theta


def _phase(m, n, phi, theta):
    """Return m theta - n phi, (nphi, ntheta, modes)."""
    return np.multiply.outer(theta, m)[None] - np.multiply.outer(phi, n)[:, None]


def tokamak_path() -> Path:
    """Return the path of the packaged equilibrium: a D-shaped tokamak, R0 = 6 m, 5 T, beta 3 %."""
    return Path(__file__).with_name("data") / "wout_tokamak.nc"


def read_wout(path: str | PathLike[str]) -> Equilibrium:
    """Read a VMEC output file (``wout_*.nc``, NetCDF-3, as every VMEC writes it).

    Parameters
    ----------
    path : path of the file.

    Returns
    -------
    Equilibrium : boundary and field at the edge, in SI units.

    Raises
    ------
    VcjaxError : if the file is missing, not NetCDF-3, truncated, not a VMEC output, not
        stellarator-symmetric, or holds impossible numbers.
    """
    data = read_variables(path)
    # The field is known half a radial step inside each surface: extrapolate to the edge.
    edge = {name: 1.5 * data[name][-1] - 0.5 * data[name][-2] for name in ("bsupumnc", "bsupvmnc")}
    return Equilibrium(
        nfp=int(data["nfp"]),
        stellsym=True,
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
    """Return casing and total field of a VMEC equilibrium: ``external_field(*from_wout(...))``.

    Boundary and field are sampled on the smallest grid that represents the file's Fourier series
    exactly.

    Parameters
    ----------
    path : path of a ``wout_*.nc`` file.
    digits : accuracy, as for `vcjax.choose`. Equilibria seldom have more than 5 correct digits.
    trg_nphi, trg_ntheta : target grid, over half or all of a field period.
    half_period : whether to use the stellarator symmetry.

    Returns
    -------
    casing : of the plasma boundary, lengths in m.
    B : (src_nphi, src_ntheta, 3) total field on its source grid, in T.

    Raises
    ------
    VcjaxError : as `read_wout` and `vcjax.choose`.

    Warns
    -----
    VcjaxWarning : as `vcjax.choose`, for an equilibrium that has fewer digits.
    """
    equilibrium = read_wout(path)
    grid = equilibrium.exact_grid(half_period=half_period)
    X = equilibrium.boundary(*grid, half_period=half_period)
    B = equilibrium.field(*grid, half_period=half_period)
    with errors_named("wout.from_wout"):
        rule = choose(
            X,
            B,
            digits,
            nfp=equilibrium.nfp,
            half_period=half_period,
            trg_nphi=trg_nphi,
            trg_ntheta=trg_ntheta,
        )
        return prepare(rule, X), B
