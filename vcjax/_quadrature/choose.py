"""Choose a rule from the requested digits, the surface and a typical field.

The demands on a rule are in `vcjax._quadrature.plan`.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from vcjax._annotations import Float
from vcjax._checks import check_integer
from vcjax._data_checks.fit import is_resolved
from vcjax._data_checks.spectrum import field_spectrum
from vcjax._data_checks.watch import check_chosen
from vcjax._errors import AccuracyWarning, UnresolvedWarning, VcjaxError, errors_named, warn
from vcjax._geometry import symmetry
from vcjax._quadrature.plan import planned_rule
from vcjax._quadrature.polar import CORE
from vcjax._quadrature.rule import Rule
from vcjax._quadrature.seams import check_field_seams

_EXTRA_POINTS = 12
"""Points added to the Lagrange interpolation for gradients off the surface."""
_GRADIENT_DIGITS = 11
"""Number of digits up to which rounding does not limit gradients off the surface.

See docs/accuracy.md.
"""
_LARGEST = 2**31 - 1


def choose(
    X: Float[np.ndarray, "nphi ntheta 3"],
    B: Float[np.ndarray, "src_nphi src_ntheta 3"],
    digits: int,
    *,
    nfp: int,
    half_period: bool = False,
    trg_nphi: int | None = None,
    trg_ntheta: int | None = None,
    gradient: bool = False,
) -> Rule:
    """Choose a quadrature that gives fields on a surface to the requested number of digits.

    Parameters
    ----------
    X : (nphi, ntheta, 3) Cartesian points of the surface, in any length unit.
    B : (src_nphi, src_ntheta, 3) a typical total field, in any unit. Its spectrum determines how
        fine the grid of the quadrature must be.
    digits : accuracy, from 1 to 13. The error relative to max |B| will be about 10^-digits.
    nfp : number of field periods.
    half_period : if True, the grids of X, B and targets cover half a period of a
        stellarator-symmetric configuration. Row i is then at phi = (i + 1/2) pi / (nfp nphi). If
        False, the grids cover a whole period, with row i at phi = 2 pi i / (nfp nphi).
    trg_nphi, trg_ntheta : numbers of points of the target grid; the default is the grid of B.
    gradient : whether the rule is for `prepare_gradient`. The error is then relative to
        max |grad B|. The grid of B must resolve the derivatives of B as well. If the grid resolves
        only d digits of B, the gradient has one or two digits fewer than d.

    Returns
    -------
    Rule : hashable, to be passed to `prepare` or `prepare_gradient`.

    Raises
    ------
    VcjaxError : in any of these cases

        - X or B is traced, or is not a finite float64 array on the grid described above.
        - X is not a closed torus around the z axis, or crosses itself.
        - B is zero everywhere, or has fewer than 4 poloidal points.
        - B does not continue smoothly from one period, or one turn in theta, to the next.
        - No quadrature is found for the surface, or for the target grid on it.
        - An argument is out of range.
        - JAX runs in 32-bit mode, or in a process that was forked after JAX had started.

    Warns
    -----
    ContradictionWarning, UnresolvedWarning, NoiseWarning : if X and B cannot give the requested
        digits; see ``docs/data.md``.
    UserWarning : if the near weights of all targets need more memory than the device has.
    """
    targets: dict[str, Any] = dict(trg_nphi=trg_nphi, trg_ntheta=trg_ntheta)
    rule, samples, spectrum = planned_rule(
        X, B, digits, nfp=nfp, half_period=half_period, **targets, gradient=gradient
    )
    check_chosen("choose", rule, X, B, samples, spectrum)
    return rule


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
    """Choose a quadrature that gives fields off a surface to the requested number of digits.

    Parameters
    ----------
    X : (nphi, ntheta, 3) Cartesian points of the surface, in any length unit.
    B : (src_nphi, src_ntheta, 3) a typical total field, in any unit. Its spectrum determines how
        fine the grid of the quadrature must be.
    digits : accuracy, from 1 to 13. The error relative to max |B| will be about 10^-digits.
    nfp : number of field periods.
    half_period : whether X and B cover half a period; see `choose`.
    gradient : whether the rule is for `gradient_at`; the error is then relative to max |grad B|.
    max_nphi, max_ntheta : largest numbers of quadrature nodes of the whole torus along phi and
        theta. These limits bound the time of an evaluation; the positions of the points can at
        most double this time. If the requested digits need more nodes, the rule is chosen for as
        many digits as the limits allow. Every evaluation estimates its own error.

    Returns
    -------
    Rule : hashable, to be passed to `prepare_off_surface`.

    Raises
    ------
    VcjaxError : for the reasons given for `choose`, or if `max_nphi` or `max_ntheta` is invalid or
        too small for a single digit.

    Warns
    -----
    ContradictionWarning, UnresolvedWarning, NoiseWarning : if X and B cannot give the requested
        digits; see ``docs/data.md``.
    AccuracyWarning : if more than 11 digits are requested for a gradient.
    UnresolvedWarning : if `max_nphi` or `max_ntheta` is too small for the requested digits.
    """
    call = "choose_off_surface"
    caps = [
        _LARGEST if cap is None else check_integer(call, name, cap, 1, _LARGEST)
        for name, cap in (("max_nphi", max_nphi), ("max_ntheta", max_ntheta))
    ]
    # Points may lie anywhere, so there is no target grid. A grid of one target restricts the choice
    # of nodes least.
    options: dict[str, Any] = dict(trg_nphi=1, trg_ntheta=1, gradient=gradient, off_surface=True)

    def chosen(digits: int):
        with errors_named(call):
            return planned_rule(X, B, digits, nfp=nfp, half_period=half_period, **options)

    def fits(rule: Rule) -> bool:
        return rule.quad_nphi <= caps[0] and rule.quad_ntheta <= caps[1]

    rule, samples, spectrum = chosen(digits)
    if not fits(rule):
        needed = f"{digits} digits need {rule.quad_nphi} x {rule.quad_ntheta} nodes on this surface"
        got = f"got max_nphi={max_nphi}, max_ntheta={max_ntheta}, but {needed}"
        coarser = ((d, chosen(d)[0]) for d in range(digits - 1, 0, -1))
        fewer, rule = next(((d, r) for d, r in coarser if fits(r)), (0, rule))
        if not fewer:
            raise VcjaxError(
                f"{call} {got}, and even a single digit needs more nodes than these limits; raise "
                "these limits."
            )
        message = f"{got}; the rule has {fewer} digits. Raise these limits for more digits."
        warn(call, message, UnresolvedWarning, about_data=False)
    core_in_nodes = CORE * max(rule.patch_phi, rule.patch_theta)
    rule = replace(
        rule,
        # Add one radius for every two nodes from the centre to the rim of the core, because B may
        # vary from node to node.
        core_count=int(np.ceil(2.5 * rule.cutoff + 0.5 * core_in_nodes)),
        # `radial_count` does not count the radii in the core.
        radial_count=int(np.ceil((1 - CORE) * rule.radial_count)),
    )
    if gradient and digits > _GRADIENT_DIGITS:
        warn(
            call,
            f"got digits={digits} for a gradient, but rounding limits gradients off the surface "
            f"to about {_GRADIENT_DIGITS} digits. The attribute `error` of a result shows how many "
            "digits the gradient has.",
            AccuracyWarning,
            about_data=False,
        )
    rule = _finer_interpolation(rule) if gradient else rule
    check_chosen(call, rule, X, B, samples, spectrum)
    return rule


def _finer_interpolation(rule: Rule) -> Rule:
    """Return the rule with more Lagrange points and, if needed, a wider margin of patches.

    Next to the surface, errors of the gradient include slopes of interpolation errors.
    """
    count = rule.lagrange_count + _EXTRA_POINTS
    patch, quad = (rule.patch_phi, rule.patch_theta), (rule.quad_nphi, rule.quad_ntheta)
    room = min((n - 1) // 2 - p for n, p in zip(quad, patch, strict=True))
    margin = min(max(count // 2 - min(patch), rule.margin), room)
    return replace(rule, lagrange_count=count, margin=margin)


def resolves(rule: Rule, X: np.ndarray, B: np.ndarray, digits: int) -> bool:
    """Return whether the grid of a rule resolves B, or the gradient of B, to the given digits.

    The rule was chosen for the surface X and another field. If the rule is for gradients, the grid
    must resolve the gradient. B must be a finite float64 field on the source grid of the rule.
    Raise an error if B breaks at a seam (`vcjax._quadrature.seams`).
    """
    field = B.transpose(2, 0, 1)
    check_field_seams("resolves", field, rule.nfp, rule.half_period)
    spectrum = field_spectrum(field, rule.nfp, rule.half_period)
    samples = None
    if rule.gradient:
        samples = symmetry.surface_period(X.transpose(2, 0, 1), rule.nfp, rule.half_period)
    return is_resolved(rule, spectrum, digits, samples)
