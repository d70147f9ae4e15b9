"""Read variables of NetCDF-3 files. Errors explain why a file cannot be read."""

from collections.abc import Sequence
from io import BytesIO
from os import PathLike
from pathlib import Path

import numpy as np
from scipy.io import netcdf_file

from vcjax._errors import VcjaxError

_DAMAGE = (OSError, TypeError, ValueError, LookupError, OverflowError, MemoryError, AssertionError)
"""Exceptions that SciPy's reader raises on damaged files."""


def read_netcdf(
    call: str, path: str | PathLike[str], names: Sequence[str], *, kind: str
) -> dict[str, np.ndarray]:
    """Return the named variables of a file as float64 arrays in native byte order.

    Errors name the expected `kind` of file, such as "a VMEC output wout_*.nc".
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
            missing = [name for name in names if name not in file.variables]
            data = {
                name: np.array(file.variables[name].data, dtype=float)
                for name in names
                if name not in missing
            }
    except _DAMAGE as error:
        raise VcjaxError(
            f"{call} cannot read {path}: the file is damaged or truncated ({error}); copy it again."
        ) from error
    if missing:
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
