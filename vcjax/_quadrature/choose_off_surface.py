"""From digits, surface and field to a Rule for points off the surface.

One rule serves every distance: the grid is as fine as the surface and the field ask for, and
patches take over near the surface. Where other methods refine their grid until the nearest point
is resolved, and need a schedule of levels to be traced, here nothing is left to refine.
"""

import warnings
from dataclasses import replace

import numpy as np
from jaxtyping import Array, Float

from vcjax._checks import check_integer
from vcjax._errors import VcjaxError, told_by
from vcjax._off_surface import OffSurface, field_at, gradient_at
from vcjax._off_surface_transform import prepare_off_surface
from vcjax._quadrature.choose import choose
from vcjax._quadrature.rule import Rule
from vcjax._quadrature.tables import CORE

_LARGEST = 2**31 - 1


def choose_off_surface(
    X: Float[np.ndarray, "nphi ntheta 3"],
    B: Float[np.ndarray, "src_nphi src_ntheta 3"],
    digits: int,
    *,
    nfp: int,
    half_period: bool = False,
    gradient: bool = False,
    max_nphi: int | None = None,
    max_ntheta: int | None = None,
) -> Rule:
    """Choose the quadrature that gives the wanted digits at any points off a surface.

    Parameters
    ----------
    X : (nphi, ntheta, 3) Cartesian points of the surface, any length unit.
    B : (src_nphi, src_ntheta, 3) a typical total field; its spectrum decides how fine the grid
        must be.
    digits : wanted accuracy, error relative to max |B| about 10^-digits; 1 to 13.
    nfp : number of field periods.
    half_period : whether X and B cover half a period; see `choose`.
    gradient : choose for `gradient_at`.
    max_nphi, max_ntheta : most quadrature nodes of the whole torus along phi and theta; they bound
        what an evaluation costs, which no point can change. Where the digits need more, the rule is
        that of the most digits that fit, with a warning; evaluations estimate their errors anyway.

    Returns
    -------
    Rule : hashable, for `prepare_off_surface`.

    Raises
    ------
    VcjaxError : for input that cannot be used, or caps too low for a single digit.
    """
    call = "choose_off_surface"
    most_phi, most_theta = (
        _LARGEST if most is None else check_integer(call, name, most, 1, _LARGEST)
        for name, most in (("max_nphi", max_nphi), ("max_ntheta", max_ntheta))
    )

    def chosen(digits: int) -> Rule:
        # Points lie anywhere: the smallest grid of targets leaves the choice of nodes free.
        with told_by(call):
            return choose(
                X,
                B,
                digits,
                nfp=nfp,
                half_period=half_period,
                trg_nphi=1,
                trg_ntheta=1,
                gradient=gradient,
            )

    def fits(rule: Rule) -> bool:
        return rule.quad_nphi <= most_phi and rule.quad_ntheta <= most_theta

    rule = chosen(digits)
    if not fits(rule):
        needed = f"{digits} digits need {rule.quad_nphi} x {rule.quad_ntheta} nodes on this surface"
        got = f"{call} got max_nphi={max_nphi}, max_ntheta={max_ntheta}, but {needed}"
        coarser = ((d, chosen(d)) for d in range(digits - 1, 0, -1))
        fewer, rule = next(((d, r) for d, r in coarser if fits(r)), (0, rule))
        if not fewer:
            raise VcjaxError(f"{got}, and a single digit more than allowed; raise them.")
        warnings.warn(f"{got}; the rule is one of {fewer} digits.", stacklevel=2)
    return replace(
        rule,
        core_count=int(np.ceil(2.5 * rule.cutoff)),
        # Beside the core is only a part of each ray.
        radial_count=int(np.ceil((1 - CORE) * rule.radial_count)),
    )


def off_surface_field(
    X: Float[np.ndarray, "nphi ntheta 3"],
    B: Float[np.ndarray, "src_nphi src_ntheta 3"],
    points: Float[Array | np.ndarray, "n 3"],
    digits: int,
    *,
    nfp: int,
    half_period: bool = False,
) -> OffSurface:
    """The separated fields at any points, in one call: `choose_off_surface`, then `field_at`."""
    with told_by("off_surface_field"):
        rule = choose_off_surface(X, B, digits, nfp=nfp, half_period=half_period)
        return field_at(prepare_off_surface(rule, X), B, points)


def off_surface_gradient(
    X: Float[np.ndarray, "nphi ntheta 3"],
    B: Float[np.ndarray, "src_nphi src_ntheta 3"],
    points: Float[Array | np.ndarray, "n 3"],
    digits: int,
    *,
    nfp: int,
    half_period: bool = False,
) -> OffSurface:
    """Their gradients in one call: `choose_off_surface`, then `gradient_at`."""
    with told_by("off_surface_gradient"):
        rule = choose_off_surface(X, B, digits, nfp=nfp, half_period=half_period, gradient=True)
        return gradient_at(prepare_off_surface(rule, X), B, points)
