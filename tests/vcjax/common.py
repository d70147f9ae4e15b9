"""Helpers that several test files share: casings of problems, errors, captured constants."""

import dataclasses
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.io import netcdf_file

import vcjax
from vcjax import problems
from vcjax._geometry.surface import outward_normals

EQUILIBRIA = Path(__file__).parents[2] / "benchmarks" / "workloads" / "equilibria"

SMALL_RULE = vcjax.Rule(
    **dict.fromkeys(("surface_shape", "src_shape", "trg_shape"), (5, 10)),
    **dict.fromkeys(("radial_count", "angular_count", "lagrange_count"), 4),
    nfp=3,
    half_period=False,
    quad_nphi=15,
    quad_ntheta=10,
    patch_phi=1,
    patch_theta=2,
    margin=1,
    cutoff=1.0,
)
"""A rule of three periods with 5 x 10 nodes each."""


def optimised(function):
    """Jit a function with LLVM's optimisation, for programs that run long."""
    return jax.jit(function, compiler_options={"xla_backend_optimization_level": 1})


def symmetry(problem) -> dict[str, Any]:
    """Return the symmetry of a problem's grids, as keywords of vcjax."""
    return dict(nfp=problem.nfp, half_period=problem.half_period)


def rule_of(problem, digits, **options):
    """Return the rule for a problem's field and targets; options are keywords of `choose`."""
    targets = dict(trg_nphi=problem.trg_nphi, trg_ntheta=problem.trg_ntheta)
    return vcjax.choose(problem.X, problem.B, digits, **symmetry(problem) | targets | options)


def surface(problem, nphi, ntheta):
    """Return points (nphi, ntheta, 3) of a problem's surface."""
    return vcjax.surface_points(problem.X, **symmetry(problem), nphi=nphi, ntheta=ntheta)


def with_targets(problem, nphi, ntheta):
    """Return a problem with its known fields on another grid of targets."""
    points = surface(problem, nphi, ntheta)
    known = (problems.magnetic_field(part, points) for part in (problem.outside, problem.inside))
    return dataclasses.replace(problem, **dict(zip(("B_ext", "B_int"), known, strict=True)))


def unit_normals(X, **grid):
    """Return outward unit normals at the points of `vcjax.surface_points`."""
    return outward_normals(vcjax.surface_points(X, **grid), *vcjax.surface_tangents(X, **grid))


def turn(angle):
    """Return the matrix of a rotation about the z axis."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def other_way(values):
    """Return values (nphi, ntheta, 3) with theta reversed."""
    return values[:, -np.arange(values.shape[1]) % values.shape[1]]


def casing_of(problem, digits, prepare=vcjax.prepare, *, optimise=False, **options):
    """Return a casing for a problem's field or gradient; options are keywords of `prepare`."""
    gradient = prepare is vcjax.prepare_gradient
    rule = rule_of(problem, digits, gradient=gradient)
    if not optimise:
        return prepare(rule, problem.X, **options)
    constants = (vcjax.gradient_tables if gradient else vcjax.tables)(rule)
    return optimised(partial(prepare, rule, **options))(problem.X, constants=constants)


def largest_error(value, expected):
    """Return the largest difference, divided by the largest absolute expected value."""
    expected = np.asarray(expected)
    return np.abs(np.asarray(value) - expected).max() / np.abs(expected).max()


def flat(values):
    """Flatten vectors (nphi, ntheta, 3) in the C++ package's order: component, phi, theta."""
    return np.moveaxis(values, -1, 0).ravel()


def vectors(values, nphi, ntheta):
    """Return a flat list of the C++ package as vectors (nphi, ntheta, 3)."""
    return np.moveaxis(np.reshape(values, (3, nphi, ntheta)), 0, -1)


def rippled(field, mode, size):
    """Return a field (nphi, ntheta, 3) times 1 + size cos(mode theta)."""
    theta = 2 * np.pi * np.arange(field.shape[1]) / field.shape[1]
    return field * (1 + size * np.cos(mode * theta))[:, None]


def captured_bytes(program):
    """Return the size, in bytes, of the constants that a jaxpr captures."""
    return sum(np.asarray(constant).nbytes for constant in program.consts)


def small_torus(digits=3, **options):
    """Return a problem with programs that compile fast."""
    sizes: dict[str, Any] = dict(shape=(4, 20), src_shape=(4, 20), trg_shape=(2, 6))
    return problems.axisymmetric(digits, **(sizes | options))


def determined(found):
    """Return the external field at points inside, and the internal field at the other points."""
    return jnp.where(found.inside[:, None], found.external, found.internal)


def section(curve, *, nphi=6, ntheta=48):
    """Return an axisymmetric surface (nphi, ntheta, 3); ``curve(theta)`` returns r and z."""
    r, z = curve(2 * np.pi * np.arange(ntheta) / ntheta)
    phi = 2 * np.pi * np.arange(nphi)[:, None] / nphi
    return np.stack([r * np.cos(phi), r * np.sin(phi), z + 0 * phi], axis=2)


def toroidal_field(X):
    """Return the field of a conductor on the z axis at points X; it is 1 at the distance 1."""
    return np.cross([0.0, 0.0, 1.0], X) / (X[..., :2] ** 2).sum(axis=-1, keepdims=True)


def write_netcdf(path, variables):
    """Write variables to a NetCDF-3 file, and return the path."""
    with netcdf_file(path, "w") as file:
        for name, values in variables.items():
            values = np.asarray(values)
            dimensions = tuple(f"{name}_{axis}" for axis in range(values.ndim))
            for dimension, size in zip(dimensions, values.shape, strict=True):
                file.createDimension(dimension, size)
            kind = "i" if values.dtype.kind in "iu" else "d"
            file.createVariable(name, kind, dimensions)[...] = values
    return path
