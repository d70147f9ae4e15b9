"""Read NetCDF-3 files, and check the output files of VMEC. Errors explain why a file is refused."""

from collections.abc import Sequence
from io import BytesIO
from os import PathLike
from pathlib import Path

import numpy as np
from scipy.io import netcdf_file

from vcjax._errors import ContradictionWarning, VcjaxError, warn

_DAMAGE = (OSError, TypeError, ValueError, LookupError, OverflowError, MemoryError, AssertionError)
"""Exceptions that SciPy's reader raises on damaged files."""
_CALL = "wout.read_wout"
_SCALARS = ("nfp", "lasym__logical__")
_MODES = ("xm", "xn", "xm_nyq", "xn_nyq")
_PROFILES = ("rmnc", "zmns", "bsupumnc", "bsupvmnc")
_CONVERGED = (0, 11)
"""Values of VMEC's ``ier_flag`` after a run that converged. VMEC also writes a complete file if the
forces are still too large after the last iteration (2)."""
_LARGEST = 1e30
"""A larger number is NetCDF's fill value, 1e37, which stands for numbers that were not written."""
_NFP_LIMIT = 1000
"""Largest nfp that `vcjax.choose` accepts."""


def read_netcdf(
    call: str,
    path: str | PathLike[str],
    names: Sequence[str],
    *,
    kind: str,
    optional: Sequence[str] = (),
) -> dict[str, np.ndarray]:
    """Return the named variables of a file as float64 arrays in native byte order.

    The file may lack variables that are `optional`. Errors name the expected `kind` of file, such
    as "a VMEC output wout_*.nc".
    """
    try:
        path = Path(path)
    except TypeError as error:
        raise VcjaxError(
            f"{call} got path={path!r}; give the path of {kind} as a str or pathlib.Path."
        ) from error
    content = _content(call, path, kind)
    try:
        with netcdf_file(BytesIO(content), mmap=False) as file:
            data = {
                name: np.array(file.variables[name].data, dtype=float)
                for name in (*names, *optional)
                if name in file.variables
            }
    except _DAMAGE as error:
        raise VcjaxError(
            f"{call} cannot read {path}: the file is damaged or truncated ({error}); copy it again."
        ) from error
    if missing := [name for name in names if name not in data]:
        raise VcjaxError(
            f"{call} got {path}, which lacks the variables {', '.join(missing)}; give {kind}."
        )
    return data


def _content(call: str, path: Path, kind: str) -> bytes:
    try:
        content = path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a character that no file name can contain
        reason = error.strerror if isinstance(error, OSError) else error
        raise VcjaxError(
            f"{call} cannot open {str(path)!r}: {reason}; give the path of {kind}."
        ) from error
    head = content[:4]
    if head == b"\x89HDF":
        raise VcjaxError(
            f"{call} got {path}, a NetCDF-4 (HDF5) file, but reads NetCDF-3 only. "
            "Convert the file with: nccopy -k classic in.nc out.nc"
        )
    if head not in (b"CDF\x01", b"CDF\x02"):
        raise VcjaxError(
            f"{call} got {path}, which is not a NetCDF-3 file (it starts with {head!r}); give "
            f"{kind}."
        )
    return content


def read_variables(path: str | PathLike[str]) -> dict[str, np.ndarray]:
    """Return the checked variables of a VMEC output file, under the names that VMEC gives to them.

    The variables are scalars, mode numbers and radial profiles of Fourier coefficients.
    """
    names, kind = _SCALARS + _MODES + _PROFILES, "the wout_*.nc of a VMEC run that converged"
    data = read_netcdf(_CALL, path, names, kind=kind, optional=("ier_flag",))
    _check_shapes(path, data)
    _check_numbers(path, data)
    _check_modes(path, data)
    return data


def _check_shapes(path, data):
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
                path,
                f"{name} of shape {data[name].shape}; to match the other variables it must have "
                f"shape {shape}",
            )
    if surfaces < 3:
        raise VcjaxError(
            f"{_CALL} got {path} with {surfaces} flux surfaces, but extrapolating the field to the "
            "boundary needs at least 3. Solve the equilibrium with a larger NS_ARRAY."
        )


def _check_numbers(path, data):
    """Check all numbers that are used: of each profile, only the last two surfaces are used."""
    flag = data.pop("ier_flag", np.zeros(1))
    if not np.isin(flag, _CONVERGED).all():
        warn(
            _CALL,
            f"got {path} with ier_flag = {flag.flat[0]:g}: VMEC stopped before it converged, so "
            "the boundary and the field may contradict each other. Solve the equilibrium again, "
            "for example with a larger NITER_ARRAY.",
            ContradictionWarning,
        )
    used = {name: data[name][-2:] if name in _PROFILES else data[name] for name in data}
    for name, values in used.items():
        if not (np.abs(values) < _LARGEST).all():
            raise VcjaxError(
                f"{_CALL} got {path} with numbers in {name} that are NaN, infinite or not written; "
                "probably the solver did not finish. Solve the equilibrium again."
            )
    if data["lasym__logical__"] != 0:
        raise VcjaxError(
            f"{_CALL} got {path}, an equilibrium without stellarator symmetry (lasym is true); "
            "only symmetric equilibria are supported. Solve the equilibrium again with LASYM = F."
        )
    for names in (("rmnc",), ("zmns",), ("bsupumnc", "bsupvmnc")):
        if not any(used[name].any() for name in names):
            raise VcjaxError(
                f"{_CALL} got {path}, in which all {' and '.join(names)} at the edge are zero; "
                "probably the solver did not finish. Solve the equilibrium again."
            )


def _check_modes(path, data):
    nfp = data["nfp"]
    if not 1 <= nfp <= _NFP_LIMIT or nfp % 1:
        raise _foreign(path, f"nfp = {nfp:g}; it must be an integer from 1 to {_NFP_LIMIT}")
    for name in _MODES:
        divisor = int(nfp) if name.startswith("xn") else 1
        odd = data[name][data[name] % divisor != 0]
        if odd.size:
            multiple = f"multiples of nfp = {divisor}" if divisor > 1 else "whole numbers"
            raise _foreign(path, f"{name} of {odd[0]:.15g}; VMEC writes {multiple}")


def _foreign(path, got):
    return VcjaxError(
        f"{_CALL} got {path} with {got}. The file is damaged or was written by another code: copy "
        "it again, or give the wout_*.nc that VMEC wrote."
    )
