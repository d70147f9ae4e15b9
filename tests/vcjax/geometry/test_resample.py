"""Resampling: exact for few modes, equal by matrices and by transforms, without BLAS threads."""

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from vcjax import surface_points, surface_tangents
from vcjax._geometry import resample, symmetry


def _torus(phi, theta, nfp):
    """Return a smooth surface of few modes, stellarator-symmetric but not axisymmetric."""
    r = 3 + np.cos(theta) + 0.2 * np.cos(theta - nfp * phi)
    z = np.sin(theta) - 0.2 * np.sin(theta - nfp * phi)
    return np.stack([r * np.cos(phi), r * np.sin(phi), z], axis=-1)


def _grid(shape, nfp, half_period):
    nphi, ntheta = shape
    phi = symmetry.grid_angles(nphi, nfp, half_period)[:, None]
    return phi, 2 * np.pi * np.arange(ntheta)[None] / ntheta


@pytest.mark.parametrize("half_period", [False, True])
@pytest.mark.parametrize("nfp", [1, 2, 5])
@pytest.mark.parametrize("shape", [(7, 9), (8, 10)])
def test_surface_of_few_modes_is_reproduced_on_any_grid(nfp, half_period, shape):
    X = _torus(*_grid(shape, nfp, half_period), nfp)
    kind: dict[str, Any] = dict(nfp=nfp, half_period=half_period, nphi=13, ntheta=17)
    expected = _torus(*_grid((13, 17), nfp, half_period), nfp)
    np.testing.assert_allclose(surface_points(X, **kind), expected, atol=1e-13)


@pytest.mark.parametrize("half_period", [False, True])
@pytest.mark.parametrize("shape", [(7, 9), (8, 10)])
def test_tangents_are_the_derivatives_of_a_surface_of_few_modes(half_period, shape):
    nfp, step = 3, 1e-30  # a complex step: no digits cancel
    X = _torus(*_grid(shape, nfp, half_period), nfp)
    phi, theta = _grid((5, 7), nfp, half_period)
    found = surface_tangents(X, nfp=nfp, half_period=half_period, nphi=5, ntheta=7)
    moved = _torus(phi + 1j * step, theta, nfp), _torus(phi, theta + 1j * step, nfp)
    for tangent, point in zip(found, moved, strict=True):
        np.testing.assert_allclose(tangent, np.imag(point) / step, rtol=0, atol=1e-12)


@pytest.mark.parametrize("half_period", [False, True])
@pytest.mark.parametrize("nfp, shape", [(1, (3, 5)), (2, (4, 6)), (5, (7, 8)), (3, (1, 7))])
def test_matrices_of_a_surface_equal_its_transforms_for_any_data(nfp, shape, half_period):
    """Random points have all modes, including the highest."""
    X = np.random.default_rng(0).normal(size=(*shape, 3))
    nphi, ntheta = shape
    phi, theta = symmetry.surface_period_matrices(nphi, ntheta, nfp, half_period)
    expected = symmetry.surface_period(np.moveaxis(X, 2, 0), nfp, half_period)
    found = resample.resampled(resample.as_rows(X), phi, theta)
    np.testing.assert_allclose(found, expected, atol=1e-13)


@pytest.mark.parametrize("half_period", [False, True])
@pytest.mark.parametrize("nfp, shape", [(1, (3, 5)), (5, (4, 6))])
def test_matrices_of_a_field_equal_the_steps_that_they_combine(nfp, shape, half_period):
    B = np.random.default_rng(0).normal(size=(*shape, 3))
    angles, theta = np.linspace(-3, 7, 9), np.linspace(0, 6, 4)
    samples = symmetry.field_period(np.moveaxis(B, 2, 0), nfp, half_period)
    start, step = symmetry.field_angles(samples.shape[1], nfp, half_period)
    given = start + step * np.arange(samples.shape[1])
    phi = resample.interpolation_matrices(given.size, start, 2 * np.pi / nfp, angles)
    value, _ = resample.interpolation_matrices(shape[1], 0.0, 2 * np.pi, theta)
    expected = symmetry.rotate(phi[0] @ samples @ value.T, angles)
    matrix, _ = resample.laboratory_matrices(*phi, angles, given)
    matrices = symmetry.with_mirror(matrix, value, half_period)
    found = resample.resampled(resample.as_rows(B), *matrices)
    np.testing.assert_allclose(found, expected, atol=1e-13)


_CPU_TIME_OF_BLAS = """
import os, time
import numpy as np
threads = set(os.listdir("/proc/self/task")) - {str(os.getpid())}  # of OpenBLAS

def used():
    return sum(int(open(f"/proc/self/task/{id}/schedstat").read().split()[0]) for id in threads)

import vcjax
problem = vcjax.problems.w7x(6)
time.sleep(0.5)  # until the threads of earlier products sleep
before = used()
symmetry = dict(nfp=problem.nfp, half_period=problem.half_period)
for gradient in (False, True):
    rule = vcjax.choose(problem.X, problem.B, 6, **symmetry, gradient=gradient)
    vcjax.gradient_tables(rule)
print(used() - before)
print(len(threads))
np.ones((900, 900)) @ np.ones((900, 900))
print(used() - before)
"""


def test_choosing_and_tables_use_no_threads_of_openblas():
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "2", "JAX_ENABLE_X64": "1"}
    command = [sys.executable, "-W", "ignore", "-c", _CPU_TIME_OF_BLAS]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    if "No such file" in done.stderr:
        pytest.skip("this system does not report the CPU time of threads")
    chosen, threads, multiplied = map(int, done.stdout.split())
    if not threads or not multiplied:
        pytest.skip("NumPy's matrix products use one thread")
    assert chosen == 0
