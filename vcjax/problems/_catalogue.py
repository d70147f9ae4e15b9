"""Define problems with known answers, and the coils of a tokamak.

For W7-X and the rotating ellipse, the field needs about as many Fourier modes as the test field of
the package ``virtual_casing``, for each number of digits. The distances of the currents from the
surface were chosen for this. The tests of vcjax compare the numbers of modes.
"""

import functools
from collections.abc import Callable
from typing import ParamSpec

import numpy as np

from vcjax._checks import check_integer, check_shape
from vcjax._errors import VcjaxError
from vcjax.problems._filaments import CentralConductor, PoloidalCoil, ToroidalLoop
from vcjax.problems._problem import Problem, known_problem
from vcjax.problems._surfaces import (
    circular_torus,
    rotating_ellipse_surface,
    shaped_torus,
    w7x_boundary,
)

MAX_DIGITS = 14
P = ParamSpec("P")


def _kept(make: Callable[P, Problem]) -> Callable[P, Problem]:
    """Keep the last eight problems, except problems for arguments without a hash, such as lists."""
    cached = functools.lru_cache(maxsize=8)(make)

    @functools.wraps(make)
    def kept(*args: P.args, **kwargs: P.kwargs) -> Problem:
        try:
            hash((*args, *kwargs.values()))
        except TypeError:
            return make(*args, **kwargs)
        return cached(*args, **kwargs)

    return kept


@_kept
def w7x(digits: int, *, half_period: bool = True) -> Problem:
    """Return a problem on the boundary of Wendelstein 7-X, with lengths in metres.

    Fifty coils are outside; their mean toroidal field is 1 at the major radius 5.56 m. A filament
    near the magnetic axis is inside. Let d be the digits. Over a half period, the grids
    (nphi x ntheta) are 10 x 20 for the surface, 6d x 32d for the sources and 20 x 40 for the
    targets. A full period has twice as many toroidal points.

    Parameters
    ----------
    digits : d, the accuracy that the source grid is designed for.
    half_period : whether the grids cover half a field period instead of a full period.

    Raises
    ------
    VcjaxError : if `digits` is not an integer from 1 to 14.
    """
    digits = check_integer("problems.w7x", "digits", digits, 1, MAX_DIGITS)
    factor = 1 if half_period else 2
    surface = w7x_boundary()
    # This loop is roughly the magnetic axis. Its torsion makes the field as hard to resolve as the
    # test field of ``virtual_casing``.
    axis = ToroidalLoop(0.25, r=(5.56, 0.37, 0.02), z=(0.0, 0.18, 0.02), nfp=5)
    coils = _coils(50, radius=1.4, middle=ToroidalLoop(0.0, r=(5.56, 0.37), z=(0.0, 0.18), nfp=5))
    return known_problem(
        "w7x",
        surface.points(10 * factor, 20, half_period=half_period),
        nfp=5,
        half_period=half_period,
        digits=digits,
        outside=coils,
        inside=(axis,),
        src_shape=(6 * digits * factor, 32 * digits),
        trg_shape=(20 * factor, 40),
    )


@_kept
def rotating_ellipse(digits: int, *, half_period: bool = True, nfp: int = 4) -> Problem:
    """Return a problem on a rotating ellipse with the major radius 0.7 and semi-axes 0.1 and 0.2.

    Four coils in each period are outside; their mean toroidal field is 1 at the radius 0.7. A
    circular filament is inside. Let d be the digits. Over a half period, the grids (nphi x ntheta)
    are 10 x 20 for the surface, 3d x 15d for the sources and 19 x 29 for the targets. A full period
    has twice as many toroidal points.

    Parameters
    ----------
    digits : d, the accuracy that the source grid is designed for.
    half_period : whether the grids cover half a field period instead of a full period.
    nfp : number of field periods.

    Raises
    ------
    VcjaxError : if `digits` is not an integer from 1 to 14, or `nfp` not an integer from 1 to 20.
    """
    digits = check_integer("problems.rotating_ellipse", "digits", digits, 1, MAX_DIGITS)
    nfp = check_integer("problems.rotating_ellipse", "nfp", nfp, 1, 20)
    factor = 1 if half_period else 2
    return known_problem(
        "rotating_ellipse",
        rotating_ellipse_surface(nfp).points(10 * factor, 20, half_period=half_period),
        nfp=nfp,
        half_period=half_period,
        digits=digits,
        outside=_coils(4 * nfp, radius=0.5, middle=ToroidalLoop(0.0, r=(0.7,))),
        inside=(ToroidalLoop(0.18, r=(0.72,)),),
        src_shape=(3 * digits * factor, 15 * digits),
        trg_shape=(19 * factor, 29),
    )


@_kept
def axisymmetric(
    digits: int,
    *,
    cross_section: str = "shaped",
    minor_radius: float = 0.5,
    shape: tuple[int, int] = (6, 40),
    src_shape: tuple[int, int] | None = None,
    trg_shape: tuple[int, int] = (8, 20),
) -> Problem:
    """Return a problem on an axisymmetric torus with the major radius 2.

    A current along the z axis and two loops are outside, and one loop is inside. The current along
    the axis has the strength mu_0 I / (4 pi) = 1.

    Parameters
    ----------
    digits : d, the accuracy that the source grid is designed for.
    cross_section : ``"shaped"`` (egg-shaped) or ``"circular"``.
    minor_radius : above 0 and up to 1.2, in the length unit in which the major radius is 2.
    shape : (nphi, ntheta) of the surface over the full turn. With few points, the surface through
        them differs from the exact torus.
    src_shape : (nphi, ntheta) of the source grid; by default (6, 8d).
    trg_shape : (nphi, ntheta) of the target grid.

    Raises
    ------
    VcjaxError : if `digits` is not an integer from 1 to 14, `cross_section` is unknown, or
        `minor_radius` or a shape is out of range.
    """
    digits = check_integer("problems.axisymmetric", "digits", digits, 1, MAX_DIGITS)
    surfaces = {"shaped": shaped_torus, "circular": circular_torus}
    if cross_section not in tuple(surfaces):
        raise VcjaxError(
            f"problems.axisymmetric got cross_section={cross_section!r}; "
            "give 'shaped' or 'circular'."
        )
    if not (isinstance(minor_radius, int | float | np.number) and 0.0 < minor_radius <= 1.2):
        raise VcjaxError(
            f"problems.axisymmetric got minor_radius={minor_radius!r}; "
            "give a value above 0 and up to 1.2 (the major radius is 2)."
        )
    shape, src_shape, trg_shape = (
        check_shape("problems.axisymmetric", name, counts)
        for name, counts in (
            ("shape", shape),
            ("src_shape", (6, 8 * digits) if src_shape is None else src_shape),
            ("trg_shape", trg_shape),
        )
    )
    a = minor_radius
    surface = surfaces[cross_section](minor_radius=a)
    return known_problem(
        f"axisymmetric_{cross_section}",
        surface.points(*shape, half_period=False),
        nfp=1,
        half_period=False,
        digits=digits,
        outside=(
            CentralConductor(1.0),
            ToroidalLoop(a / 4, r=(2.0,), z=(2 * a,)),
            ToroidalLoop(a / 4, r=(2.0,), z=(-2 * a,)),
        ),
        inside=(ToroidalLoop(a / 2, r=(2.0 - 0.05 * a,)),),
        src_shape=src_shape,
        trg_shape=trg_shape,
    )


def tokamak_coils() -> tuple[CentralConductor | ToroidalLoop, ...]:
    """Return the coils of the free-boundary tokamaks in ``benchmarks/workloads/equilibria``.

    The coils are a current along the z axis, which makes a field of 5 T at R = 6 m, and two loops.
    Currents are given as mu_0 I / (4 pi) in T m and lengths in m, so that `magnetic_field` returns
    tesla.
    """
    loop = 1e-7 * -4.2e6
    return (
        CentralConductor(5.0 * 6.0 / 2),
        ToroidalLoop(loop, r=(11.0,), z=(6.0,)),
        ToroidalLoop(loop, r=(11.0,), z=(-6.0,)),
    )


def _coils(count: int, *, radius: float, middle: ToroidalLoop) -> tuple[PoloidalCoil, ...]:
    """Return identical circular coils, centred on a toroidal curve at equal steps of phi.

    The mean toroidal field of the coils is 1 at the mean major radius of the curve.
    """
    angles = 2 * np.pi * (np.arange(count) + 0.5) / count
    points, _ = middle.curve(angles)
    centres = np.stack([np.hypot(points[:, 0], points[:, 1]), points[:, 2]], axis=1)
    current = middle.r[0] / (2 * count)
    return tuple(
        PoloidalCoil(current, float(phi), (float(r), float(z)), radius)
        for phi, (r, z) in zip(angles, centres, strict=True)
    )
