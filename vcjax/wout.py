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
from vcjax._choose import choose
from vcjax._errors import VcjaxError
from vcjax._netcdf import read_netcdf
from vcjax._resample import grid_angles
from vcjax._surface import outward_normals

_CALL = "wout.read_wout"
_SCALARS = ("nfp", "lasym__logical__")
_MODES = ("xm", "xn", "xm_nyq", "xn_nyq")
_PROFILES = ("rmnc", "zmns", "bsupumnc", "bsupvmnc")
_NFP_LIMIT = 1000
"""As in every call of vcjax that takes nfp."""


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """Boundary and edge field of a stellarator-symmetric VMEC equilibrium.

    Attributes
    ----------
    nfp : number of field periods.
    stellsym : stellarator symmetry; always True, other equilibria are refused.
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
        """Points of the plasma boundary on a grid over a half or full field period.

        Returns
        -------
        (nphi, ntheta, 3) Cartesian points, in m.
        """
        phi, theta = self._grid("boundary", nphi, ntheta, half_period)
        return self._tangents(phi, theta)[0]

    def field(
        self, nphi: int, ntheta: int, *, half_period: bool = True
    ) -> Float[np.ndarray, "nphi ntheta 3"]:
        """Total magnetic field at the points of `boundary`: B = B^theta X_theta + B^phi X_phi.

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
        """Outward unit normals at the points of `boundary`.

        Returns
        -------
        (nphi, ntheta, 3) Cartesian components.
        """
        phi, theta = self._grid("unit_normal", nphi, ntheta, half_period)
        return outward_normals(*self._tangents(phi, theta))

    def tangents(
        self, nphi: int, ntheta: int, *, half_period: bool = True
    ) -> tuple[Float[np.ndarray, "nphi ntheta 3"], Float[np.ndarray, "nphi ntheta 3"]]:
        """Tangents dX/dphi and dX/dtheta at the points of `boundary`, in m per radian."""
        return self._tangents(*self._grid("tangents", nphi, ntheta, half_period))[1:]

    def exact_grid(self, *, half_period: bool = True) -> tuple[int, int]:
        """Smallest (nphi, ntheta) that hold `boundary` and `field` exactly.

        The field is a product of two series, and Cartesian components add a mode in phi.
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
        """X, dX/dphi, dX/dtheta."""
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
    """m theta - n phi, (nphi, ntheta, modes)."""
    return np.multiply.outer(theta, m)[None] - np.multiply.outer(phi, n)[:, None]


def tokamak_path() -> Path:
    """The equilibrium that comes with the package: a D-shaped tokamak, R0 = 6 m, 5 T, beta 3 %."""
    return Path(__file__).with_name("data") / "wout_tokamak.nc"


def read_wout(path: str | PathLike[str]) -> Equilibrium:
    """Read a VMEC output file (``wout_*.nc``, NetCDF-3, as every VMEC writes it).

    Parameters
    ----------
    path : of the file.

    Returns
    -------
    Equilibrium : boundary and field at the edge, in SI units.

    Raises
    ------
    VcjaxError : no path, no such file, not NetCDF-3, cut short, not a VMEC output, not
        stellarator-symmetric, or with numbers that no equilibrium has.
    """
    data = read_netcdf(
        _CALL, path, (*_SCALARS, *_MODES, *_PROFILES), kind="a VMEC output wout_*.nc"
    )
    _check_shapes(path, data)
    _check_numbers(path, data)
    _check_modes(path, data)
    # The field lives half a step inside each surface: extrapolate to the edge.
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
    """Casing and total field of a VMEC equilibrium: ``external_field(*from_wout(...))``.

    Boundary and field are taken on the grid that holds the file's Fourier series exactly, so that
    only targets and digits are left to choose.

    Parameters
    ----------
    path : of a ``wout_*.nc`` file.
    digits : wanted accuracy, as for `vcjax.choose`. The equilibrium's own is seldom above 5.
    trg_nphi, trg_ntheta : target grid, over half or all of a field period.
    half_period : make use of the stellarator symmetry.

    Returns
    -------
    casing : of the plasma boundary, lengths in m.
    B : (src_nphi, src_ntheta, 3) total field on its source grid, in T.

    Raises
    ------
    VcjaxError : as `read_wout` and `vcjax.choose`.
    """
    equilibrium = read_wout(path)
    grid = equilibrium.exact_grid(half_period=half_period)
    X = equilibrium.boundary(*grid, half_period=half_period)
    B = equilibrium.field(*grid, half_period=half_period)
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


def _check_shapes(path, data):
    """Numbers, lists and tables where VMEC writes them, of sizes that belong together."""
    kinds = (
        (_SCALARS, 0, "a single number"),
        (_MODES, 1, "a list of mode numbers"),
        (_PROFILES, 2, "a table (surfaces, modes)"),
    )
    for names, axes, kind in kinds:
        for name in names:
            if data[name].ndim != axes:
                raise _foreign(path, f"{name} of shape {data[name].shape}; VMEC writes {kind}")
    surfaces = len(data["rmnc"])
    expected = {
        "xn": data["xm"].shape,
        "xn_nyq": data["xm_nyq"].shape,
        "rmnc": (surfaces, len(data["xm"])),
        "zmns": (surfaces, len(data["xm"])),
        "bsupumnc": (surfaces, len(data["xm_nyq"])),
        "bsupvmnc": (surfaces, len(data["xm_nyq"])),
    }
    for name, shape in expected.items():
        if data[name].shape != shape:
            raise _foreign(
                path, f"{name} of shape {data[name].shape}; beside the rest {shape} fits"
            )
    if surfaces < 3:
        raise VcjaxError(
            f"{_CALL} got {path} with {surfaces} flux surfaces; the field at the edge takes at "
            "least 3. Solve the equilibrium with more, NS_ARRAY."
        )


def _check_numbers(path, data):
    """Finite where they are used, symmetric, with a boundary and a field."""
    used = {name: data[name][-2:] if name in _PROFILES else data[name] for name in data}
    for name, values in used.items():
        if not np.isfinite(values).all():
            raise VcjaxError(
                f"{_CALL} got {path} with NaN or infinite {name}; the solver did not converge, "
                "solve the equilibrium again."
            )
    if data["lasym__logical__"] != 0:
        raise VcjaxError(
            f"{_CALL} got {path}, an equilibrium without stellarator symmetry (lasym is true); "
            "only symmetric ones are supported. Solve it again with LASYM = F."
        )
    for names in (("rmnc",), ("zmns",), ("bsupumnc", "bsupvmnc")):
        if not any(used[name].any() for name in names):
            raise VcjaxError(
                f"{_CALL} got {path} with nothing but zeros at the edge in {', '.join(names)}; "
                "the solver did not finish, solve the equilibrium again."
            )


def _check_modes(path, data):
    """Whole mode numbers, and toroidal ones that repeat with the field period."""
    nfp = data["nfp"]
    if not 1 <= nfp <= _NFP_LIMIT or nfp % 1:
        raise _foreign(path, f"nfp = {nfp:g}; it must be an integer from 1 to {_NFP_LIMIT}")
    for name in _MODES:
        divisor = int(nfp) if name.startswith("xn") else 1
        odd = data[name][data[name] % divisor != 0]
        if odd.size:
            multiple = f"multiples of nfp = {divisor}" if divisor > 1 else "whole numbers"
            raise _foreign(path, f"{name} of {odd[0]:g}; VMEC writes {multiple}")


def _foreign(path, got):
    return VcjaxError(
        f"{_CALL} got {path} with {got}. The file is damaged or of another code: copy it again, "
        "or give the wout_*.nc that VMEC wrote."
    )
