"""From digits, surface and field to a Rule for points off the surface."""

from dataclasses import replace

import numpy as np
from jaxtyping import Array, Float

from vcjax._choose import choose
from vcjax._offsurface import OffSurface, field_at, gradient_at
from vcjax._offsurface_transform import prepare_off_surface
from vcjax._rule import Rule


def choose_off_surface(
    X: Float[np.ndarray, "nphi ntheta 3"],
    B: Float[np.ndarray, "src_nphi src_ntheta 3"],
    digits: int,
    *,
    nfp: int,
    half_period: bool = False,
    gradient: bool = False,
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

    Returns
    -------
    Rule : hashable, for `prepare_off_surface`.

    Raises
    ------
    VcjaxError : for input that cannot be used.
    """
    # Targets lie anywhere: the smallest grid of them leaves the choice of nodes free.
    rule = choose(
        X,
        B,
        digits,
        nfp=nfp,
        half_period=half_period,
        trg_nphi=1,
        trg_ntheta=1,
        gradient=gradient,
    )
    return replace(rule, core_count=int(np.ceil(2.5 * rule.cutoff)))


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
    rule = choose_off_surface(X, B, digits, nfp=nfp, half_period=half_period, gradient=True)
    return gradient_at(prepare_off_surface(rule, X), B, points)
