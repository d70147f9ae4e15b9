"""Virtual casing problems by name, each with its known answer.

The names and sizes are the usual ones in profiles of virtual casing codes.
"""

from collections.abc import Callable

from vcjax import VcjaxError, problems
from vcjax.problems import Problem


def case_vc(*, digits: int = 5, half_period: bool = False) -> Problem:
    """Return the smallest problem: a narrow torus, sources 6 x 5, targets 4 x 4, nfp 1.

    It has too few sources for its digits, so the error is about 0.1 with any method. Its purpose is
    to measure the cost of a call that computes almost nothing.
    """
    return _torus("case_vc", digits, half_period, (6, 5), (4, 4))


def case_vc_large(*, digits: int = 6, half_period: bool = False) -> Problem:
    """Return the problem of `case_vc` with sources 14 x 10 and targets 10 x 8.

    Its error is about 1e-2.
    """
    return _torus("case_vc_large", digits, half_period, (14, 10), (10, 8))


def w7x(*, digits: int = 6, half_period: bool = True) -> Problem:
    """Return the problem of W7-X: nfp 5, surface 10 x 20, sources 6d x 32d, targets 20 x 40.

    The targets cover half a period; d is the number of digits.
    """
    return problems.w7x(digits, half_period=half_period)


def rotating_ellipse(*, digits: int = 6, half_period: bool = True) -> Problem:
    """Return the rotating ellipse: nfp 4, surface 10 x 20, sources 3d x 15d, targets 19 x 29.

    The targets cover half a period; d is the number of digits.
    """
    return problems.rotating_ellipse(digits, half_period=half_period)


CASES: dict[str, Callable[..., Problem]] = {
    case.__name__: case for case in (case_vc, case_vc_large, w7x, rotating_ellipse)
}
"""Every case takes the keywords ``digits`` and ``half_period``, both with a default."""


def problem_named(
    name: str, *, digits: int | None = None, half_period: bool | None = None
) -> Problem:
    """Return the problem with a given name.

    Parameters
    ----------
    name : one of `CASES`.
    digits, half_period : by default those of the problem.

    Raises
    ------
    VcjaxError : if the name is unknown, the digits are out of range, or a half period is asked
        of a torus without symmetry.
    """
    if name not in CASES:
        raise VcjaxError(f"problem_named got name={name!r}; give one of {', '.join(CASES)}.")
    given = {"digits": digits, "half_period": half_period}
    return CASES[name](**{key: value for key, value in given.items() if value is not None})


def _torus(name, digits, half_period, shape, trg_shape):
    if half_period:
        raise VcjaxError(
            f"{name} got half_period=True; it covers the full torus. "
            "Give half_period=False, or take w7x or rotating_ellipse."
        )
    return problems.axisymmetric(digits, shape=shape, src_shape=shape, trg_shape=trg_shape)
