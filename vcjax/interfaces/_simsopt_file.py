"""Read and write the NetCDF file of ``simsopt.mhd.VirtualCasing``."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Any

import numpy as np
from scipy.io import netcdf_file

from vcjax import VcjaxError
from vcjax._files import read_netcdf

_SRC, _TRGT = ("src_nphi", "src_ntheta"), ("trgt_nphi", "trgt_ntheta")
_VARIABLES: dict[str, tuple[tuple[str, ...], str, str]] = {
    # name: (dimensions, unit, description). Variables without dimensions are integers.
    "nfp": ((), "", "Periodicity in toroidal direction"),
    "src_nphi": ((), "", "Number of grid points in phi of B_total and gamma"),
    "src_ntheta": ((), "", "Number of grid points in theta of B_total and gamma"),
    "trgt_nphi": ((), "", "Number of grid points in phi of B_external"),
    "trgt_ntheta": ((), "", "Number of grid points in theta of B_external"),
    "trgt_nphi_extended": ((), "", "Number of grid points in phi of B_external_normal_extended"),
    "src_phi": (("src_nphi",), "", "Toroidal angles of B_total and gamma, of period 1"),
    "src_theta": (("src_ntheta",), "", "Poloidal angles of B_total and gamma, of period 1"),
    "trgt_phi": (("trgt_nphi",), "", "Toroidal angles of B_external, of period 1"),
    "trgt_theta": (("trgt_ntheta",), "", "Poloidal angles of B_external, of period 1"),
    "gamma": ((*_SRC, "xyz"), "meter", "Points of the boundary"),
    "B_total": ((*_SRC, "xyz"), "Tesla", "Total field on the boundary"),
    "unit_normal": ((*_TRGT, "xyz"), "", "Outward unit normals"),
    "B_external": ((*_TRGT, "xyz"), "Tesla", "Field of the currents outside the boundary"),
    "B_external_normal": (_TRGT, "Tesla", "Component of B_external along unit_normal"),
    "B_external_normal_extended": (
        ("trgt_nphi_extended", "trgt_ntheta"),
        "Tesla",
        "B_external_normal on the whole torus",
    ),
}
_DERIVED = {"trgt_nphi_extended", "B_external_normal_extended"}
"""Variables that can be computed from other variables: written for simsopt, but not read."""
_READ = [name for name in _VARIABLES if name not in _DERIVED]


def check_target(call: str, filename: Any) -> str:
    """Return a file name as a str; raise `VcjaxError` unless the file can be written.

    The file stays as it is.
    """
    if not isinstance(filename, str | PathLike):
        raise VcjaxError(
            f"{call} got filename={filename!r}; give the path of a file, as text or pathlib.Path."
        )
    with _write_errors(call, filename):
        path = os.path.realpath(filename)
        is_new = not os.path.exists(path)
        open(path, "ab").close()
        if is_new:
            os.remove(path)
    return str(filename)


@contextmanager
def _write_errors(call: str, filename: str | PathLike[str]) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: a character that no file name can contain
        raise VcjaxError(
            f"{call} cannot write {str(filename)!r}: {getattr(error, 'strerror', error)}; give the "
            "path of a file in a folder that exists and that you may write to."
        ) from error


def write(filename: str | PathLike[str], values: Any) -> None:
    """Write the attributes of a `VirtualCasing` to a NetCDF file that simsopt can read.

    If an attribute is not valid, raise `VcjaxError` and leave the file as it is.
    """
    filename = check_target("save", filename)
    advice = "Save the object as `from_vmec` or `load` returned it."
    try:
        attributes = {name: np.asarray(getattr(values, name), float) for name in _READ}
    except (AttributeError, TypeError, ValueError) as error:
        raise VcjaxError(f"save got an attribute that is not numeric: {error}. {advice}") from error
    _check("save got", attributes, advice)
    with _write_errors("save", filename), netcdf_file(filename, "w") as file:
        file.history = "made by vcjax.interfaces.simsopt"
        file.createDimension("xyz", 3)
        for name, (dimensions, *_) in _VARIABLES.items():
            if not dimensions and name != "nfp":
                file.createDimension(name, int(getattr(values, name)))
        for name, (dimensions, unit, description) in _VARIABLES.items():
            variable = file.createVariable(name, "d" if dimensions else "i", dimensions)
            variable[...] = getattr(values, name)
            variable.description, variable.units = description, unit or "Dimensionless"


def read(filename: str | PathLike[str]) -> dict[str, Any]:
    """Return the variables of a file by name, without `_DERIVED`; check shapes and values."""
    kind = "a file saved by VirtualCasing.save, vcasing_*.nc"
    data = read_netcdf("load", filename, _READ, kind=kind)
    advice = f"The file is damaged or of another kind; give {kind}."
    sizes = _check(f"load got {filename} with", data, advice)
    return {name: sizes.get(name, values) for name, values in data.items()}


def _check(got: str, data: dict[str, np.ndarray], advice: str) -> dict[str, int]:
    """Return the sizes among the variables; raise `VcjaxError` unless all variables are valid."""
    sizes = {"xyz": 3}
    for name, values in data.items():
        expected = tuple(sizes[axis] for axis in _VARIABLES[name][0])
        kind = "finite" if expected else "a whole number above 0"
        right = np.isfinite(values) & (bool(expected) | (values > 0) & (values == np.rint(values)))
        if values.shape != expected or not right.all():
            raise VcjaxError(
                f"{got} {name} of shape {values.shape} (invalid values: {int((~right).sum())}); it "
                f"must have the shape {expected}, and each value must be {kind}. {advice}"
            )
        if not expected:
            sizes[name] = int(values)
    return sizes
