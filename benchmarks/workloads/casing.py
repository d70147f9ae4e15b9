"""Virtual casing problems by name, each with its known answer.

These names and sizes are common in profiles of virtual casing codes.
"""

from collections.abc import Callable

from vcjax import VcjaxError, problems
from vcjax.problems import Problem


def case_vc(*, digits: int = 5, half_period: bool = False) -> Problem:
    """Return the smallest problem: a narrow torus (nfp 1) with 6 x 5 sources and 4 x 4 targets.

    So few sources cannot give the requested digits: the error is about 0.1 with any method. Use
    this problem to measure the cost of a call that computes almost nothing.
    """
    return _torus("case_vc", digits, half_period, (6, 5), (4, 4))


def case_vc_large(*, digits: int = 6, half_period: bool = False) -> Problem:
    """Return the problem of `case_vc` with 14 x 10 sources and 10 x 8 targets.

    Its error is about 1e-2.
    """
    return _torus("case_vc_large", digits, half_period, (14, 10), (10, 8))


def w7x(*, digits: int = 6, half_period: bool = True) -> Problem:
    """Return the problem on the boundary of W7-X, with nfp 5.

    Half a period has 10 x 20 surface points, 6d x 32d sources for d digits, and 20 x 40 targets. A
    full period has twice as many toroidal points.
    """
    return problems.w7x(digits, half_period=half_period)


def rotating_ellipse(*, digits: int = 6, half_period: bool = True) -> Problem:
    """Return the problem on the boundary of a rotating ellipse, with nfp 4.

    Half a period has 10 x 20 surface points, 3d x 15d sources for d digits, and 19 x 29 targets. A
    full period has twice as many toroidal points.
    """
    return problems.rotating_ellipse(digits, half_period=half_period)


CASES: dict[str, Callable[..., Problem]] = {
    case.__name__: case for case in (case_vc, case_vc_large, w7x, rotating_ellipse)
}
"""The functions that make the problems; each takes the keywords ``digits`` and ``half_period``."""


def problem_named(
    name: str, *, digits: int | None = None, half_period: bool | None = None
) -> Problem:
    """Return the problem with a given name.

    Parameters
    ----------
    name : one of the names in `CASES`.
    digits, half_period : arguments of the function that makes the problem. For None, the function
        uses its default.

    Raises
    ------
    VcjaxError : if the name is unknown, the digits are out of range, or `half_period` is True for
        ``case_vc`` or ``case_vc_large``.
    """
    if name not in CASES:
        raise VcjaxError(f"problem_named got name={name!r}; give one of {', '.join(CASES)}.")
    given = {"digits": digits, "half_period": half_period}
    return CASES[name](**{key: value for key, value in given.items() if value is not None})


def _torus(name, digits, half_period, shape, trg_shape):
    if half_period:
        raise VcjaxError(
            f"{name} got half_period=True; this problem covers the full torus. "
            "Give half_period=False, or take w7x or rotating_ellipse."
        )
    return problems.axisymmetric(digits, shape=shape, src_shape=shape, trg_shape=trg_shape)
