"""Measure errors and error estimates on one shape, by quantity, field, digits and distance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import jax
import numpy as np
from scipy.spatial import KDTree

import vcjax
from studies.accuracy.shapes import Shape, shapes
from studies.harness import Row
from vcjax import problems
from vcjax.problems import Filament

DISTANCES = (0.5, 0.1, 0.03, 1e-3, 1e-5)
"""Distances of off-surface points from the surface, in minor radii."""
_GRID = (8, 24)
"""Size (nphi, ntheta) of a grid of surface points over a whole field period."""
PLACES = [(i, j) for i in range(4) for j in range(3 * (i % 2), 24, 5)]
"""Indices of surface points in a grid of 4 x 24 points.

Off-surface points lie on the surface normals at these points and at the points that `facing`
returns.
"""
_FINE = (300, 384)
"""Size (nphi, ntheta) of the grid, over a whole field period, in which `facing` finds points."""
EXTRA_DIGITS, EXTRA_DIGITS_OF_GRADIENTS = 2, 4
"""Digits that the grid of B resolves in addition to the requested digits."""
_FINEST = 1e-15
"""Smallest tolerance for choosing the grid of B, relative to max |B|.

Rounding errors are about as large.
"""
_ROUNDING = 2e-16
"""Amplitude of rounding errors in a mode of B, divided by the largest amplitude of all modes."""


def on_surface(shape: Shape, field: str, digits: int, gradient: bool = False) -> Iterator[Row]:
    """Yield the row of a field on the surface, or of the gradient of the field."""
    X, symmetry = shape.points(), symmetry_of(shape)
    B, outside, inside = data_of(shape, field, digits, gradient)
    size = targets_of(shape)
    grid: dict[str, Any] = dict(trg_nphi=shape.rows(size[0]), trg_ntheta=size[1])
    rule = vcjax.choose(X, B, digits, **symmetry, **grid, gradient=gradient)
    targets = _grid_points(shape, size)
    if gradient:
        casing = vcjax.prepare_gradient(rule, X)
        truth = problems.magnetic_field_gradient(outside, targets)
        error = np.abs(np.asarray(vcjax.external_gradient(casing, B)) - truth).max()
        error /= _steepest(shape, B, (outside, inside))
    else:
        casing = vcjax.prepare(rule, X)
        truth = problems.magnetic_field(outside, targets)
        errors = np.linalg.norm(np.asarray(vcjax.external_field(casing, B)) - truth, axis=-1)
        error = errors.max() / np.linalg.norm(B, axis=-1).max()
    yield _row(error, vcjax.error_estimate(casing, B), digits) | _sizes(rule, B)


def off_surface(shape: Shape, field: str, digits: int, gradient: bool = False) -> Iterator[Row]:
    """Yield a row for each distance on each side of the surface.

    A row is left out if no point lies at its distance on its side.
    """
    X = shape.points()
    B, *currents = data_of(shape, field, digits, gradient)
    rule = vcjax.choose_off_surface(X, B, digits, **symmetry_of(shape), gradient=gradient)
    casing = vcjax.prepare_off_surface(rule, X)
    points, distances, is_inside = points_off(shape, DISTANCES, facing(shape, currents))
    errors, estimates = errors_off_surface(shape, casing, B, points, is_inside, currents)
    for distance in DISTANCES:
        for side in ("inside", "outside"):
            here = (distances == distance) & (is_inside == (side == "inside"))
            if here.any():
                worst = float(errors[here].max())
                row = _row(worst, float(estimates[here].max()), digits)
                least = (estimates[here] / np.maximum(errors[here], 1e-300)).min()
                row |= dict(least_ratio=float(least), distance=distance, side=side)
                yield row | _sizes(rule, B)


def errors_off_surface(shape: Shape, casing, B, points, is_inside, currents):
    """Return the errors at n points and the estimates of these errors, shape (n,) each.

    Errors of fields are relative to max |B|, and errors of gradients to max |grad B|. An error is
    the norm over all components. Gradients are evaluated if `casing.rule.gradient` is True.
    `points` has the shape (n, 3). `currents` are the currents outside and inside the surface.
    """
    gradient = casing.rule.gradient
    at = vcjax.gradient_at if gradient else vcjax.field_at
    known = problems.magnetic_field_gradient if gradient else problems.magnetic_field
    found = jax.tree.map(np.asarray, at(casing, B, points))
    scale = unit = np.linalg.norm(B, axis=-1).max()
    if gradient:
        scale = _steepest(shape, B, currents)
    # B determines the external part only inside the surface, and the internal part only outside.
    errors = np.full(len(points), np.inf)
    parts = (is_inside, found.external), (~is_inside, found.internal)
    for (here, part), some in zip(parts, currents, strict=True):
        size = (part[here] - known(some, points[here])).reshape(here.sum(), -1)
        errors[here] = np.nan_to_num(np.linalg.norm(size, axis=1), nan=np.inf) / scale
    return errors, found.error * unit / scale


def _steepest(shape: Shape, B, currents) -> float:
    """Return max |grad B|: the largest magnitude of any component of grad B on two grids.

    The first grid is the grid of B, which has the shape (nphi, ntheta, 3). The second grid has the
    size `_GRID`.
    """
    options: dict[str, Any] = symmetry_of(shape) | dict(nphi=B.shape[0], ntheta=B.shape[1])
    on_grid = vcjax.surface_points(shape.points(), **options)
    points = np.concatenate([x.reshape(-1, 3) for x in (on_grid, _grid_points(shape))])
    total = sum(problems.magnetic_field_gradient(some, points) for some in currents)
    return float(np.abs(total).max())


def _row(error: float, estimate: float, digits: int) -> Row:
    ratio = float(estimate / error) if error > 0 else None
    return dict(error=error, estimate=estimate, over=error * 10.0**digits, ratio=ratio)


def _sizes(rule, B) -> Row:
    return dict(
        quad=[rule.quad_nphi, rule.quad_ntheta],
        patch=[rule.patch_phi, rule.patch_theta],
        angular=rule.angular_count,
        src=list(B.shape[:2]),
    )


def symmetry_of(shape: Shape) -> dict[str, Any]:
    """Return the symmetry of a shape, as keyword arguments for functions of vcjax."""
    return dict(nfp=shape.surface.nfp, half_period=shape.symmetric)


def _grid_points(shape: Shape, grid: Sequence[int] = _GRID):
    """Return the points of a surface grid, which covers half a period if the shape is symmetric.

    `grid` is the size (nphi, ntheta) of the grid over a whole period.
    """
    options: dict[str, Any] = symmetry_of(shape) | dict(nphi=shape.rows(grid[0]), ntheta=grid[1])
    return vcjax.surface_points(shape.points(), **options)


def data_of(shape: Shape, field: str, digits: int, gradient: bool):
    """Return B on a grid, the currents outside the surface, and the currents inside.

    B has the shape (nphi, ntheta, 3). The grid resolves more than `digits` digits of B, and covers
    half a period if the shape is symmetric.
    """
    outside, inside = shape.currents(field)
    extra = EXTRA_DIGITS_OF_GRADIENTS if gradient else EXTRA_DIGITS
    tolerance = max(10.0 ** -(digits + extra), _FINEST)
    tails = _spectrum(shape.name, field)
    needed = [int(np.argmax(np.append(tail, 0.0) <= tolerance)) for tail in tails]
    # Only mode numbers below `needed` matter.
    nodes = _grid_points(shape, (max(3, 2 * needed[0]), max(8, 2 * needed[1])))
    B = problems.magnetic_field((*outside, *inside), nodes)
    return B, outside, inside


@lru_cache
def _spectrum(name: str, field: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the tails of the spectrum of B (see `_tails`) on a grid that resolves B.

    The grid has at most 1024 points in a direction, even if B needs more.
    """
    shape = shapes()[name]
    outside, inside = shape.currents(field)
    size = [16, 64]
    while True:
        B = problems.magnetic_field((*outside, *inside), _grid_points(shape, size))
        tails = _tails(B, shape)
        unresolved = [
            tail[-max(1, len(tail) // 8)] > _FINEST and n <= 1000
            for tail, n in zip(tails, size, strict=True)
        ]
        if not any(unresolved):
            return tails
        size = [2 * n if more else n for n, more in zip(size, unresolved, strict=True)]


def _tails(B: np.ndarray, shape: Shape):
    """Return, for each mode number in phi and in theta, the tail of the spectrum of B.

    The tail of a mode number is the sum of the amplitudes of this mode number and of all higher
    mode numbers, divided by max |B|.
    """
    if shape.symmetric:
        image = np.roll(B[::-1, ::-1], 1, axis=1) * np.array([-1.0, 1.0, 1.0])
        B = np.concatenate([image, B])
        start = -0.5 * (len(B) - 1)
    else:
        start = 0.0
    phi = (start + np.arange(len(B))) * 2 * np.pi / (shape.surface.nfp * len(B))
    cosine, sine = np.cos(phi)[:, None], np.sin(phi)[:, None]
    x, y, z = np.moveaxis(B, -1, 0)
    turned = np.stack([cosine * x + sine * y, cosine * y - sine * x, z])
    size = np.abs(np.fft.fft2(turned, axes=(1, 2), norm="forward")).sum(axis=0)
    # Amplitudes below this limit are rounding errors.
    size[size < _ROUNDING * size.max()] = 0.0
    tails = []
    for axis in (0, 1):
        count = size.shape[axis]
        modes = np.abs(np.fft.fftfreq(count, 1 / count)).astype(int)
        share = np.bincount(modes, size.sum(axis=1 - axis))
        tails.append(np.cumsum(share[::-1])[::-1] / np.linalg.norm(B, axis=-1).max())
    return tails[0], tails[1]


def targets_of(shape: Shape) -> tuple[int, int]:
    """Return the size (nphi, ntheta) of the target grid over a whole field period.

    With this size, some rows of targets face coils of the field ``coils``. A grid with
    only 24 targets in theta would miss the largest errors, which are next to these coils.
    """
    return (12 if shape.symmetric else 8, 48)


def facing(shape: Shape, currents) -> list[tuple[int, int]]:
    """Return the points of the grid `_FINE` that are nearest to filaments, as indices.

    The first point is nearest to the filaments outside the surface, the second to the filaments
    inside. A side without filaments has no point. Results have the largest errors next to currents,
    where a field has its highest modes.
    """
    points = _grid_points(shape, _FINE)
    parameters = 2 * np.pi * np.arange(2000) / 2000
    found = []
    for some in currents:
        curves = [one.curve(parameters)[0] for one in some if isinstance(one, Filament)]
        if curves:
            away, _ = KDTree(np.concatenate(curves)).query(points)
            i, j = np.unravel_index(away.argmin(), away.shape)
            found.append((int(i), int(j)))
    return found


@lru_cache
def frame(name: str, grid: tuple[int, int] = (4, 24), places=tuple(PLACES)):
    """Return points of a surface (n, 3), their outward unit normals, and lengths of tangents.

    The lengths of dX/dphi and dX/dtheta have the shape (2, n). `grid` is the size of a grid over
    half a period if the surface is symmetric, else over a whole period. `places` are the indices of
    the points in this grid.
    """
    shape = shapes()[name]
    options: dict[str, Any] = dict(nphi=grid[0], ntheta=grid[1], **symmetry_of(shape))
    x = vcjax.surface_points(shape.points(), **options)
    along = vcjax.surface_tangents(shape.points(), **options)
    normal = np.cross(*along)
    normal *= np.sign((normal * x).sum()) / np.linalg.norm(normal, axis=2, keepdims=True)
    i, j = zip(*places, strict=True)
    lengths = np.linalg.norm(along, axis=3)
    return np.asarray(x)[i, j], np.asarray(normal)[i, j], lengths[:, i, j]


def points_off(shape: Shape, distances: Sequence[float | np.ndarray], also=()):
    """Return points on the normals of the surface, on both sides of each point of `frame`.

    Points within 0.05 of the z axis are left out, because a conductor may be there. Each of
    `distances`, in minor radii, is a number for all points of `frame`, or an array with a number
    for each point. `also` contains the indices of further surface points, from `facing`.

    The first result is the points, shape (n, 3). The second is the distance of each point from its
    surface point, in minor radii. The third says whether each point is inside the surface.
    """
    x, normal, _ = frame(shape.name)
    if also:
        more = frame(shape.name, (shape.rows(_FINE[0]), _FINE[1]), tuple(also))
        x, normal = (np.concatenate(pair) for pair in zip((x, normal), more[:2], strict=True))
    away = np.stack([np.broadcast_to(one, len(x)) for one in distances for _ in (-1, 1)])
    sides = np.tile([-1.0, 1.0], len(distances))[:, None]
    points = x + (sides * away * shape.minor_radius)[:, :, None] * normal
    keep = np.hypot(points[:, :, 0], points[:, :, 1]) > 0.05
    points, placed_inside, away = points[keep], (sides < 0).repeat(len(x), 1)[keep], away[keep]
    return points, away, is_inside_of(shape, points, placed_inside, away)


def is_inside_of(shape: Shape, points, placed_inside, distances) -> np.ndarray:
    """Return whether each point is inside the surface, shape (n,).

    Points within 0.02 minor radii of their surface points are on the side where they were placed.
    Other points are inside if the cross-section winds around them. `distances` are the distances
    of the points from their surface points, in minor radii.
    """
    inside = placed_inside.copy()
    for k in np.flatnonzero(distances > 0.02):
        x, y, z = points[k]
        r, height = shape.section(np.arctan2(y, x), 2000)
        angle = np.arctan2(height - z, r - np.hypot(x, y))
        turned = np.unwrap(np.append(angle, angle[0]))
        inside[k] = abs(turned[-1] - turned[0]) > np.pi
    return inside
