"""Read and write the NetCDF file of ``simsopt.mhd.VirtualCasing``."""

from os import PathLike
from typing import Any

import numpy as np
from scipy.io import netcdf_file

from vcjax import VcjaxError
from vcjax._files.netcdf import read_netcdf

_SIZES = {
    "nfp": "Periodicity in toroidal direction",
    "src_nphi": "Number of grid points in phi of B_total and gamma",
    "src_ntheta": "Number of grid points in theta of B_total and gamma",
    "trgt_nphi": "Number of grid points in phi of B_external",
    "trgt_ntheta": "Number of grid points in theta of B_external",
}
_DERIVED_SIZES = {
    "trgt_nphi_extended": "Number of grid points in phi of B_external_normal_extended",
}
_ARRAYS = {
    "src_phi": (("src_nphi",), "", "Toroidal angles of B_total and gamma, of period 1"),
    "src_theta": (("src_ntheta",), "", "Poloidal angles of B_total and gamma, of period 1"),
    "trgt_phi": (("trgt_nphi",), "", "Toroidal angles of B_external, of period 1"),
    "trgt_theta": (("trgt_ntheta",), "", "Poloidal angles of B_external, of period 1"),
    "gamma": (("src_nphi", "src_ntheta", "xyz"), "meter", "Points of the boundary"),
    "B_total": (("src_nphi", "src_ntheta", "xyz"), "Tesla", "Total field on the boundary"),
    "unit_normal": (("trgt_nphi", "trgt_ntheta", "xyz"), "", "Outward unit normals"),
    "B_external": (
        ("trgt_nphi", "trgt_ntheta", "xyz"),
        "Tesla",
        "Field of the currents outside the boundary",
    ),
    "B_external_normal": (
        ("trgt_nphi", "trgt_ntheta"),
        "Tesla",
        "Component of B_external along unit_normal",
    ),
}
_DERIVED_ARRAYS = {
    "B_external_normal_extended": (
        ("trgt_nphi_extended", "trgt_ntheta"),
        "Tesla",
        "B_external_normal on the whole torus",
    ),
}


def write(filename: str | PathLike[str], values: Any) -> None:
    """Write the attributes of a `VirtualCasing` to a NetCDF file that simsopt can read.

    Raises
    ------
    VcjaxError : if the file cannot be written.
    """
    sizes, arrays = _SIZES | _DERIVED_SIZES, _ARRAYS | _DERIVED_ARRAYS
    try:
        with netcdf_file(filename, "w") as file:
            file.history = "made by vcjax.interfaces.simsopt"
            file.createDimension("xyz", 3)
            for name in sizes:
                if name != "nfp":
                    file.createDimension(name, int(getattr(values, name)))
            for name, description in sizes.items():
                variable = file.createVariable(name, "i", ())
                variable[...] = getattr(values, name)
                variable.description, variable.units = description, "Dimensionless"
            for name, (dimensions, units, description) in arrays.items():
                variable = file.createVariable(name, "d", dimensions)
                variable[...] = getattr(values, name)
                variable.description, variable.units = description, units or "Dimensionless"
    except OSError as error:
        raise VcjaxError(
            f"save cannot write {filename}: {error.strerror}; give the path of a file in a folder "
            "that exists and that you may write to."
        ) from error


def read(filename: str | PathLike[str]) -> dict[str, Any]:
    """Return the sizes and arrays in a file by name, without the derived sizes and arrays.

    Raises
    ------
    VcjaxError : if the file is missing or damaged, or its arrays do not fit together.
    """
    kind = "a file saved by VirtualCasing.save, vcasing_*.nc"
    data = read_netcdf("load", filename, (*_SIZES, *_ARRAYS), kind=kind)
    sizes = {name: int(data[name]) for name in _SIZES if data[name].ndim == 0}
    for name, (dimensions, _, _) in _ARRAYS.items():
        expected = tuple(3 if axis == "xyz" else sizes.get(axis) for axis in dimensions)
        if data[name].shape != expected or not np.isfinite(data[name]).all():
            raise VcjaxError(
                f"load got {filename} with {name} of shape {data[name].shape}; it must have shape "
                f"{expected} and only finite numbers. The file is damaged or of another "
                f"kind; give {kind}."
            )
    return {**sizes, **{name: data[name] for name in _ARRAYS}}
