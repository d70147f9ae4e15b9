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
from io import BytesIO
from os import PathLike
from pathlib import Path

import numpy as np
from jaxtyping import Float
from scipy.io import netcdf_file

from vcjax._checks import check_integer
from vcjax._errors import VcjaxError
from vcjax._resample import grid_angles

_CALL = "wout.read_wout"
_SCALARS = ("nfp", "lasym__logical__")
_MODES = ("xm", "xn", "xm_nyq", "xn_nyq")
_PROFILES = ("rmnc", "zmns", "bsupumnc", "bsupvmnc")


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
    VcjaxError : no such file, not NetCDF-3, cut short, not a VMEC output, not
        stellarator-symmetric, or with numbers that are not finite.
    """
    path = Path(path)
    data = _read_variables(path)
    if data["lasym__logical__"] != 0:
        raise VcjaxError(
            f"{_CALL} got {path}, an equilibrium without stellarator symmetry (lasym is true); "
            "only symmetric ones are supported. Solve it again with LASYM = F."
        )
    _check(path, data)
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


def _read_variables(path: Path) -> dict[str, np.ndarray]:
    """The variables needed, as native float64; anything that prevents this is a VcjaxError."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise VcjaxError(
            f"{_CALL} cannot open {path}: {error.strerror}; give the path of a wout_*.nc file."
        ) from error
    head = content[:4]
    if head == b"\x89HDF":
        raise VcjaxError(
            f"{_CALL} got {path}, a NetCDF-4 (HDF5) file; VMEC writes NetCDF-3. "
            "Convert it: nccopy -k classic in.nc out.nc."
        )
    if head[:3] != b"CDF":
        raise VcjaxError(
            f"{_CALL} got {path}, which is no NetCDF file (it starts with {head!r}); "
            "give a VMEC output wout_*.nc."
        )
    names = (*_SCALARS, *_MODES, *_PROFILES)
    try:
        with netcdf_file(BytesIO(content), mmap=False) as file:
            missing = [name for name in names if name not in file.variables]
            data = {
                name: np.array(file.variables[name].data, dtype=float)
                for name in names
                if name not in missing
            }
    except _DAMAGE as error:
        raise VcjaxError(
            f"{_CALL} cannot read {path}: it is damaged or cut short ({error}); copy it again."
        ) from error
    if missing:
        raise VcjaxError(
            f"{_CALL} got {path}, which lacks {', '.join(missing)}; give a VMEC output wout_*.nc."
        )
    return data


_DAMAGE = (OSError, TypeError, ValueError, LookupError, OverflowError, MemoryError, AssertionError)
"""What scipy's reader raises on damaged files, depending on where the damage is."""


def _check(path, data):
    """Shapes that belong together, enough surfaces, finite numbers."""
    modes, field_modes = data["xm"].size, data["xm_nyq"].size
    surfaces = len(data["rmnc"])
    expected = {
        "xn": (modes,),
        "xn_nyq": (field_modes,),
        "rmnc": (surfaces, modes),
        "zmns": (surfaces, modes),
        "bsupumnc": (surfaces, field_modes),
        "bsupvmnc": (surfaces, field_modes),
    }
    for name, shape in expected.items():
        if data[name].shape != shape or surfaces < 3:
            raise VcjaxError(
                f"{_CALL} got {path} with {name} of shape {data[name].shape}; VMEC writes {shape}, "
                "with at least 3 surfaces. The file is damaged or of another code."
            )
    for name, values in data.items():
        used = values[-2:] if name in _PROFILES else values
        if not np.isfinite(used).all():
            raise VcjaxError(
                f"{_CALL} got {path} with NaN or infinite {name}; the solver did not converge, "
                "solve the equilibrium again."
            )
    if data["nfp"].shape != () or data["nfp"] < 1 or data["nfp"] % 1:
        raise VcjaxError(f"{_CALL} got {path} with nfp = {data['nfp']}; it must be 1, 2, 3, ...")
