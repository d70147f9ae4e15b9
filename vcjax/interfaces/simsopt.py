"""Replace ``simsopt.mhd.VirtualCasing``: the external field on the boundary of a VMEC equilibrium.

simsopt need not be installed. The equilibrium is given by the path of a ``wout_*.nc``, or by an
object like ``simsopt.mhd.Vmec``. vcjax and simsopt can read each other's files.

Grids are uniform in angles of period 1. theta starts at 0. With ``use_stellsym=True``, phi covers
half a field period and starts half a step above 0. Otherwise phi covers a whole field period and
starts at 0.
"""

from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from vcjax import VcjaxError, choose, error_estimate, external_field, prepare
from vcjax._annotations import Float
from vcjax._checks import check_grid
from vcjax._errors import errors_named
from vcjax._geometry.symmetry import grid_angles
from vcjax.interfaces import _simsopt_file
from vcjax.interfaces._estimate import warn_of_estimate
from vcjax.wout import Equilibrium, read_wout


@dataclass(eq=False)
class VirtualCasing:
    """The total and the external magnetic field on a plasma boundary.

    Create it with `from_vmec` or `load`. The prefix ``src_`` denotes the grid of the input,
    ``trgt_`` the grid of the result. Lengths are in m, fields in T. Vectors are Cartesian.

    Attributes
    ----------
    nfp : number of field periods.
    src_nphi, src_ntheta, trgt_nphi, trgt_ntheta : numbers of points of the grids.
    src_phi, src_theta, trgt_phi, trgt_theta : angles of the grids, of period 1.
    gamma : (src_nphi, src_ntheta, 3) points of the boundary.
    B_total : (src_nphi, src_ntheta, 3) total field on the boundary.
    unit_normal : (trgt_nphi, trgt_ntheta, 3) outward unit normals.
    B_external : (trgt_nphi, trgt_ntheta, 3) field of the currents outside the boundary.
    B_external_normal : (trgt_nphi, trgt_ntheta) component of B_external along unit_normal.
    error_estimate : estimated error of B_external relative to max |B_total|; see
        `vcjax.error_estimate`. It is None in an object loaded from a file.
    """

    nfp: int
    src_nphi: int
    src_ntheta: int
    src_phi: Float[np.ndarray, " src_nphi"]
    src_theta: Float[np.ndarray, " src_ntheta"]
    trgt_nphi: int
    trgt_ntheta: int
    trgt_phi: Float[np.ndarray, " trgt_nphi"]
    trgt_theta: Float[np.ndarray, " trgt_ntheta"]
    gamma: Float[np.ndarray, "src_nphi src_ntheta 3"]
    B_total: Float[np.ndarray, "src_nphi src_ntheta 3"]
    unit_normal: Float[np.ndarray, "trgt_nphi trgt_ntheta 3"]
    B_external: Float[np.ndarray, "trgt_nphi trgt_ntheta 3"]
    B_external_normal: Float[np.ndarray, "trgt_nphi trgt_ntheta"]
    error_estimate: float | None = None

    @classmethod
    def from_vmec(
        cls,
        vmec: Any,
        src_nphi: int,
        src_ntheta: int | None = None,
        trgt_nphi: int | None = None,
        trgt_ntheta: int | None = None,
        use_stellsym: bool = True,
        digits: int = 6,
        filename: str | PathLike[str] | None = "auto",
    ) -> "VirtualCasing":
        """Separate the field of a VMEC equilibrium, and save the result.

        Parameters
        ----------
        vmec : path of a ``wout_*.nc``, or an object with ``run()`` and ``output_file``, like
            ``simsopt.mhd.Vmec``.
        src_nphi, src_ntheta : numbers of points of the input grid. The default src_ntheta makes
            the cells of the grid nearly square; it is at least 4.
        trgt_nphi, trgt_ntheta : numbers of points of the result; the default is the input grid.
        use_stellsym : whether the grids cover half a field period instead of a whole period.
        digits : accuracy; see `vcjax.choose`.
        filename : file in which the result is saved. If "auto", the file is ``vcasing_*.nc`` in the
            folder of ``wout_*.nc``. If None, nothing is saved.

        Returns
        -------
        VirtualCasing : with the external field computed.

        Raises
        ------
        VcjaxError : if the equilibrium cannot be read, an argument is invalid, or the file cannot
            be written; also for the same reasons as `vcjax.choose` and `vcjax.prepare`.

        Warns
        -----
        UnresolvedWarning : if the input grid is too coarse for the digits. The warning names a grid
            that should be fine enough.
        ContradictionWarning, NoiseWarning : see `vcjax.choose`.
        AccuracyWarning : if the estimated error is more than ten times 10^-digits.
        """
        automatic = isinstance(filename, str) and filename == "auto"
        if not (automatic or filename is None):
            _simsopt_file.check_target("from_vmec", filename)
        path = _wout_path(vmec)
        with errors_named("from_vmec"):
            equilibrium = read_wout(path)
        if automatic:
            filename = path.with_name("vcasing" + path.name.removeprefix("wout"))
            _simsopt_file.check_target("from_vmec", filename)
        src_nphi = check_grid("from_vmec", "src_nphi", src_nphi)
        if src_ntheta is None:
            whole = src_nphi * equilibrium.nfp * (2 if use_stellsym else 1)
            src_ntheta = max(4, int(whole / best_nphi_over_ntheta(equilibrium)))
        src = src_nphi, check_grid("from_vmec", "src_ntheta", src_ntheta)
        trgt = (
            check_grid("from_vmec", "trgt_nphi", src[0] if trgt_nphi is None else trgt_nphi),
            check_grid("from_vmec", "trgt_ntheta", src[1] if trgt_ntheta is None else trgt_ntheta),
        )
        with errors_named("from_vmec", {"half_period": "use_stellsym"}):
            made = cls(**_separated(equilibrium, src, trgt, digits, half_period=use_stellsym))
        if filename is not None:
            with errors_named("from_vmec"):
                made.save(filename)
        return made

    @property
    def trgt_nphi_extended(self) -> int:
        """Return the number of toroidal points of `B_external_normal_extended`."""
        return len(self.B_external_normal_extended)

    @property
    def B_external_normal_extended(self) -> Float[np.ndarray, "full trgt_ntheta"]:
        """Return `B_external_normal`, continued to the whole torus.

        Under stellarator symmetry, the normal at (-phi, -theta) is (nx, -ny, -nz), and the field
        there is (-Bx, By, Bz). Therefore the product of normal and field changes sign. The mirror
        image of the grid point (phi[i], theta[j]) is (phi[-1 - i], theta[-j]).
        """
        period = self.B_external_normal
        if self.trgt_phi[0] > 0:  # a grid over half a period starts half a step from phi = 0
            mirrored = np.roll(period[::-1, ::-1], 1, axis=1)
            period = np.concatenate([period, -mirrored])
        return np.tile(period, (self.nfp, 1))

    def save(self, filename: str | PathLike[str] = "vcasing.nc") -> None:
        """Save all attributes but `error_estimate` in a NetCDF file that simsopt can load.

        Raises
        ------
        VcjaxError : if the file name is not valid, if the file cannot be written, or if arrays
            were changed and are not finite or do not fit together.
        """
        _simsopt_file.write(filename, self)

    @classmethod
    def load(cls, filename: str | PathLike[str]) -> "VirtualCasing":
        """Load a file saved by `save` or by simsopt.

        Raises
        ------
        VcjaxError : if the file cannot be read, or if its arrays are not finite or do not fit
            together.
        """
        return cls(**_simsopt_file.read(filename))

    def plot(self, ax: Any = None, show: bool = True) -> Any:
        """Plot contours of `B_external_normal` against phi and theta, with matplotlib.

        Parameters
        ----------
        ax : axes to plot on; new axes if None.
        show : whether to show the figure.

        Returns
        -------
        matplotlib axes with the plot.

        Raises
        ------
        VcjaxError : if matplotlib is not installed.
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise VcjaxError(
                "plot needs matplotlib, which is not installed; run pip install 'vcjax[plot]'."
            ) from error
        if ax is None:
            _, ax = plt.subplots()
        contours = ax.contourf(self.trgt_phi, self.trgt_theta, self.B_external_normal.T, 25)
        ax.set(xlabel=r"$\phi$", ylabel=r"$\theta$", title="B_external_normal [T]")
        ax.figure.colorbar(contours, ax=ax)
        if show:
            plt.show()
        return ax


def best_nphi_over_ntheta(equilibrium: Equilibrium) -> float:
    """Return the nphi/ntheta that makes cells of a grid on the whole torus most nearly square.

    Let a be the ratio |dX/dphi| / |dX/dtheta| at a point X. A grid cell at that point has the
    aspect ratio a ntheta/nphi. Let the deviation of an aspect ratio q be the larger of q and 1/q.
    The result, nphi/ntheta = sqrt(max a min a), minimises the largest deviation on the surface.
    """
    along_phi, along_theta = equilibrium.tangents(50, 50, half_period=False)
    ratio = np.linalg.norm(along_phi, axis=2) / np.linalg.norm(along_theta, axis=2)
    return float(np.sqrt(ratio.max() * ratio.min()))


def _separated(equilibrium: Equilibrium, src, trgt, digits, *, half_period) -> dict[str, Any]:
    """Return the attributes of a `VirtualCasing` by name."""
    B = equilibrium.field(*src, half_period=half_period)
    # The boundary is a Fourier series, so it can be sampled on a finer grid than B.
    exact = equilibrium.exact_grid(half_period=half_period)
    X = equilibrium.boundary(*map(max, src, exact), half_period=half_period)
    symmetry: dict[str, Any] = {"nfp": equilibrium.nfp, "half_period": half_period}
    rule = choose(X, B, digits, **symmetry, trg_nphi=trgt[0], trg_ntheta=trgt[1])
    casing = prepare(rule, X)
    B_external = np.asarray(external_field(casing, B))
    estimate = error_estimate(casing, B)
    warn_of_estimate("from_vmec", estimate, digits)
    unit_normal = equilibrium.unit_normal(*trgt, half_period=half_period)
    return dict(
        nfp=equilibrium.nfp,
        **_grid("src", src, **symmetry),
        **_grid("trgt", trgt, **symmetry),
        gamma=equilibrium.boundary(*src, half_period=half_period),
        B_total=B,
        unit_normal=unit_normal,
        B_external=B_external,
        B_external_normal=(B_external * unit_normal).sum(axis=2),
        error_estimate=estimate,
    )


def _grid(prefix: str, shape: tuple[int, int], *, nfp: int, half_period: bool) -> dict[str, Any]:
    nphi, ntheta = shape
    return {
        f"{prefix}_nphi": nphi,
        f"{prefix}_ntheta": ntheta,
        f"{prefix}_phi": grid_angles(nphi, nfp, half_period) / (2 * np.pi),
        f"{prefix}_theta": np.arange(ntheta) / ntheta,
    }


def _wout_path(vmec: Any) -> Path:
    """Return the path of an equilibrium's output file; if `vmec` is an object, run it first."""
    if isinstance(vmec, str | PathLike):
        path = Path(fspath(vmec))
        if path.name.startswith("input."):
            raise VcjaxError(
                f"from_vmec got {path}, a VMEC input file; run VMEC first and give the wout_*.nc "
                "that it writes, or give simsopt.mhd.Vmec(...)."
            )
        return path
    if not (callable(getattr(vmec, "run", None)) and hasattr(vmec, "output_file")):
        raise VcjaxError(
            f"from_vmec got vmec of type {type(vmec).__name__}; give the path of a wout_*.nc, or "
            "an object with run() and output_file, like simsopt.mhd.Vmec."
        )
    vmec.run()
    return Path(vmec.output_file)
