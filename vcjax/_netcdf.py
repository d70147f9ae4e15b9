"""Read NetCDF-3 files with a clear error for whatever is wrong with them."""

from collections.abc import Sequence
from io import BytesIO
from os import PathLike
from pathlib import Path

import numpy as np
from scipy.io import netcdf_file

from vcjax._errors import VcjaxError

_DAMAGE = (OSError, TypeError, ValueError, LookupError, OverflowError, MemoryError, AssertionError)
"""What scipy's reader raises on damaged files, depending on where the damage is."""


def read_netcdf(
    call: str, path: str | PathLike[str], names: Sequence[str], *, kind: str
) -> dict[str, np.ndarray]:
    """The named variables, as native float64.

    Parameters
    ----------
    call : named in errors.
    path : of the file.
    names : of the variables.
    kind : what the file should be, for errors: "a VMEC output wout_*.nc".

    Raises
    ------
    VcjaxError : no path, no such file, not NetCDF-3, cut short, or without these variables.
    """
    try:
        path = Path(path)
    except TypeError as error:
        raise VcjaxError(
            f"{call} got path={path!r}; give the path of {kind}, a str or pathlib.Path."
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
            f"{call} cannot read {path}: it is damaged or cut short ({error}); copy it again."
        ) from error
    if missing:
        raise VcjaxError(f"{call} got {path}, which lacks {', '.join(missing)}; give {kind}.")
    return data


def _content(call: str, path: Path, kind: str) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise VcjaxError(
            f"{call} cannot open {path}: {error.strerror}; give the path of {kind}."
        ) from error
    except ValueError as error:  # characters that no file's name has
        raise VcjaxError(
            f"{call} got path={str(path)!r}, which names no file ({error}); "
            f"give the path of {kind}."
        ) from error
    head = content[:4]
    if head == b"\x89HDF":
        raise VcjaxError(
            f"{call} got {path}, a NetCDF-4 (HDF5) file; only NetCDF-3 is read. "
            "Convert it: nccopy -k classic in.nc out.nc."
        )
    if head[:3] != b"CDF":
        raise VcjaxError(
            f"{call} got {path}, which is no NetCDF file (it starts with {head!r}); give {kind}."
        )
    return content
