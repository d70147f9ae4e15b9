"""Define the surfaces of the study, and for each surface the currents of three fields.

References
----------
.. [1] R. L. Miller et al., Physics of Plasmas 5 (1998) 973, equations 36 and 37 (shape "D").
.. [2] M. Landreman and E. Paul, Physical Review Letters 128 (2022) 035001 (shapes "QA" and
   "QH"). The boundaries come from simsopt's test files. Here the major radius is 1, and modes
   below 1e-3 of the minor radius are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from studies.harness import read_rows
from vcjax import problems
from vcjax.problems import CentralConductor, PoloidalCoil, Surface, ToroidalLoop

FIELDS = ("coils", "near", "vacuum")
"""The names of the three fields.

``coils`` has coils around the surface, and a loop inside, through the middle of each cross-section.
Around a fat torus, two loops and a conductor on the z axis replace the coils. ``near`` has currents
close to the surface, inside and outside, and a conductor on the z axis. ``vacuum`` has only
currents outside: two distant loops, and a conductor on the z axis.
"""
_LOOP_MODES = 8


@dataclass(frozen=True)
class Shape:
    """A surface of the study, with a unique name."""

    name: str
    surface: Surface
    grid: tuple[int, int]
    """Size (nphi, ntheta) of the grid of X over a whole field period."""
    symmetric: bool = True
    """Whether the surface is stellarator-symmetric; X then covers only half a period."""

    def rows(self, whole: int) -> int:
        """Return `whole`, or half of `whole` (rounded up) if the shape is symmetric.

        `whole` is the number of rows of a grid over a whole field period. The grid of a symmetric
        shape covers only half a period.
        """
        return -(-whole // 2) if self.symmetric else whole

    def points(self):
        """Return the points X of the surface, shape (nphi, ntheta, 3)."""
        return self.surface.points(
            self.rows(self.grid[0]), self.grid[1], half_period=self.symmetric
        )

    def section(self, phi: float, count: int = 400):
        """Return R and Z of the cross-section at a toroidal angle, shape (2, count)."""
        theta = 2 * np.pi * np.arange(count) / count
        return np.stack(np.broadcast_arrays(*self.surface.shape(np.full(count, phi), theta)))

    def _sections(self, count: int):
        """Return R and Z of `count` cross-sections of a field period, shape (2, count, 400)."""
        angles = 2 * np.pi / self.surface.nfp * np.arange(count) / count
        return np.stack([self.section(phi) for phi in angles], axis=1)

    @property
    def minor_radius(self) -> float:
        """Radius of the circle with the mean area of the cross-sections."""
        r, z = self._sections(16)
        doubled = (r * np.roll(z, -1, axis=1) - z * np.roll(r, -1, axis=1)).sum(axis=1)
        return float(np.sqrt(np.abs(doubled / 2).mean() / np.pi))

    def currents(self, field: str) -> tuple[tuple, tuple]:
        """Return the currents outside and inside the surface for one of `FIELDS`."""
        nfp, a = self.surface.nfp, self.minor_radius
        r, z = self._sections(32)
        major, height = float(r.mean()), float(z.max())
        conductor = CentralConductor(0.5 * major)
        pair = (height + 2.0 * a, height + 0.5 * a)
        if field == "coils":
            # Close to a thin torus, too many coils would be needed. Therefore the coils' radius is
            # at least a fifth of the major radius. Coils around a fat torus would come too close to
            # the z axis, so a fat torus has a conductor on this axis and two loops instead.
            radius = max(1.4 * float(np.hypot(r - major, z).max()), 0.2 * major)
            if radius < 0.8 * major:
                return _coils(4 * nfp, major, radius), (self._loop(0.2 * a, 0.0),)
            loops = _pair(0.3 * a, (major,), pair[0])
            return (conductor, *loops), (self._loop(0.2 * a, 0.0),)
        if field == "near":
            loops = _pair(0.1 * a, (major, 0.2 * a), pair[1], nfp)
            return (conductor, *loops), (self._loop(0.1 * a, 0.4),)
        return (conductor, *_pair(a, (major + 4 * a,), height + 3 * a)), ()

    def _loop(self, current: float, share: float) -> ToroidalLoop:
        """Return a loop inside the surface.

        The loop goes through the middle of each cross-section if `share` is 0, and through the
        point at theta = 0 if `share` is 1.
        """
        count, sections = 64, self._sections(64)
        middle = sections.mean(axis=2)
        r, z = middle + share * (sections[:, :, 0] - middle)
        cosine, sine = np.fft.rfft(r).real / count, -np.fft.rfft(z).imag / count
        weights = np.where(np.arange(_LOOP_MODES) == 0, 1.0, 2.0)
        return ToroidalLoop(
            current,
            r=tuple(cosine[:_LOOP_MODES] * weights),
            z=(0.0, *(2 * sine[1:_LOOP_MODES])),
            nfp=self.surface.nfp,
        )


def _pair(current: float, r: tuple[float, ...], z: float, nfp: int = 1):
    return tuple(ToroidalLoop(current, r=r, z=(sign * z,), nfp=nfp) for sign in (1.0, -1.0))


def _coils(count: int, major_radius: float, radius: float):
    """Return poloidal coils with a mean toroidal field of 1 at the major radius."""
    current = major_radius / (2 * count)
    angles = 2 * np.pi * (np.arange(count) + 0.5) / count
    return tuple(PoloidalCoil(current, float(a), (major_radius, 0.0), radius) for a in angles)


def _d() -> Surface:
    """Return the D shape of [1]_ with elongation 1.8, triangularity 0.45 and aspect ratio 3."""
    tilt = np.arcsin(0.45)
    return Surface(1, lambda _, t: (3 + np.cos(t + tilt * np.sin(t)), 1.8 * np.sin(t)))


def _bean() -> Surface:
    """Return a torus with a bean-shaped cross-section, dented on the inboard side."""
    return Surface(1, lambda _, t: (3 + np.cos(t) + 0.4 * np.cos(2 * t), 1.6 * np.sin(t)))


def _boundary(name: str, nfp: int) -> Surface:
    """Return a boundary of ``boundaries.csv``, a Fourier series in m theta - n nfp phi."""
    found = read_rows(Path(__file__).with_name("boundaries.csv"))
    rows = [row for row in found if row["shape"] == name]
    n, m, r, z = (np.array([float(row[key]) for row in rows]) for key in ("n", "m", "r", "z"))

    def shape(phi, theta):
        phase = np.multiply.outer(theta, m) - np.multiply.outer(nfp * phi, n)
        return np.cos(phase) @ r, np.sin(phase) @ z

    return Surface(nfp, shape)


def _not_symmetric() -> Surface:
    """Return a surface of three periods without stellarator symmetry."""

    def shape(phi, theta):
        turn = theta - 3 * phi
        r = 1 + 0.25 * np.cos(theta) + 0.07 * np.cos(turn) + 0.04 * np.sin(turn + theta)
        return r, 0.3 * np.sin(theta) - 0.07 * np.sin(turn) + 0.05 * np.cos(3 * phi)

    return Surface(3, shape)


def _circle(aspect: float) -> Shape:
    surface = problems.circular_torus(major_radius=1.0, minor_radius=1.0 / aspect)
    return Shape(f"circle, aspect {aspect}", surface, (8, 8))


def _ellipse(nfp: int, elongation: float, minor: float = 0.15) -> Shape:
    axes = minor / np.sqrt(elongation), minor * np.sqrt(elongation)
    surface = problems.rotating_ellipse_surface(nfp, major_radius=1.0, semi_axes=axes)
    return Shape(f"ellipse, {nfp} periods, {elongation:g} : 1", surface, (8, 8))


def shapes() -> dict[str, Shape]:
    """Return the shapes of the study by name."""
    found = [
        *(_circle(aspect) for aspect in (1.3, 3, 10, 50)),
        Shape("D", _d(), (4, 64), symmetric=False),
        Shape("bean", _bean(), (4, 12), symmetric=False),
        _ellipse(1, 2),
        _ellipse(4, 2),
        Shape(
            "ellipse, 5 periods, 0.05 x 0.4",
            problems.rotating_ellipse_surface(5, major_radius=1.0, semi_axes=(0.05, 0.4)),
            (8, 8),
        ),
        _ellipse(1, 8),
        _ellipse(10, 4, 0.08),
        _ellipse(10, 8, 0.06),
        Shape("W7-X", problems.w7x_boundary(), (20, 20)),
        Shape("QA", _boundary("QA", 2), (8, 8)),
        Shape("QH", _boundary("QH", 4), (8, 8)),
        Shape("not symmetric", _not_symmetric(), (8, 8), symmetric=False),
    ]
    return {shape.name: shape for shape in found}
