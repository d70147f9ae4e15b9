"""Measure errors at points off the surface without patches, by distance: docs/equations.md.

Points farther from the surface than the reach of patches need no patch. The function
`vcjax._kernels.off_surface.reach_of_patches` returns this distance in node spacings. The study
places points at 0.7 to 1.3 times this distance, on both sides of the surface, and evaluates the
points without patches. The data and the exact results are the same as for the other quantities of
the study.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import jax
import numpy as np

import vcjax
from studies.accuracy import measure
from studies.accuracy.shapes import Shape
from studies.harness import Row
from vcjax._geometry.foot import Periods, filled_count, nearest
from vcjax._kernels.off_surface import reach_of_patches

SHARES = (0.7, 0.8, 0.9, 1.0, 1.1, 1.3)
"""Distances at which points are placed, as shares of the reach of patches."""
EDGES = (0.7, 0.85, 1.0, 1.15, 1.5)
"""Edges of the ranges of distances, as shares of the reach of patches."""
_NO_CUTOFF = 1e-3
"""With this `cutoff`, only points within about one node spacing of the surface have patches."""


def without_patches(shape: Shape, field: str, digits: int, gradient: bool = False) -> Iterator[Row]:
    """Yield the largest error, in units of 10^-digits, for each range of distances.

    `EDGES` are the edges of the ranges. A range without points is left out. A row has
    the lower edge of its range as the distance.
    """
    X = shape.points()
    B, *currents = measure.data_of(shape, field, digits, gradient)
    symmetry = measure.symmetry_of(shape)
    rule = vcjax.choose_off_surface(X, B, digits, **symmetry, gradient=gradient)
    bare = replace(rule, cutoff=_NO_CUTOFF)
    casing = vcjax.prepare_off_surface(bare, X)
    _, _, lengths = measure.frame(shape.name)
    spacing = (lengths * np.array(rule.spacing)[:, None]).max(axis=0)
    reach = reach_of_patches(rule) * spacing / shape.minor_radius
    points, _, is_inside = measure.points_off(shape, [share * reach for share in SHARES])
    away = _nodes_away(casing, points)
    errors, _ = measure.errors_off_surface(shape, casing, B, points, is_inside, currents)
    has_none = away > reach_of_patches(bare)
    share = away / reach_of_patches(rule)
    for first, last in itertools.pairwise(EDGES):
        here = has_none & (share >= first) & (share < last)
        if here.any():
            yield dict(distance=first, over=float(errors[here].max() * 10.0**digits))


def _nodes_away(casing: vcjax.OffSurfaceCasing, points: np.ndarray) -> np.ndarray:
    """Return the distances of n points from the surface in node spacings, shape (n,)."""
    fill = filled_count(len(points)) - len(points)
    filled = np.pad(points, ((0, fill), (0, 0)), mode="edge")
    surface = Periods(casing.nodes[:3], casing.turns)
    found = jax.jit(nearest, static_argnums=2)(filled, surface, casing.rule)
    return np.asarray(found.nodes_away)[: len(points)]
