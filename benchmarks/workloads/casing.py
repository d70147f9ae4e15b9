"""Virtual casing problems with known answers, by name.

These names and sizes are common in performance measurements of virtual casing codes.
"""

from collections.abc import Callable
from functools import partial

from vcjax import VcjaxError, problems
from vcjax.problems import Problem


def _torus(
    name: str, digits: int, sources: tuple[int, int], targets: tuple[int, int]
) -> Callable[..., Problem]:
    def make(*, digits: int = digits, half_period: bool = False) -> Problem:
        if half_period:
            raise VcjaxError(
                f"{name} got half_period=True; this problem covers the full torus. "
                "Give half_period=False, or take w7x or rotating_ellipse."
            )
        return problems.axisymmetric(digits, shape=sources, src_shape=sources, trg_shape=targets)

    return make


CASES: dict[str, Callable[..., Problem]] = {
    # Tori with few points. So few sources cannot give the requested digits: with any method, the
    # error of case_vc is about 0.1, and the error of case_vc_large about 1e-2. case_vc needs almost
    # no computation, so its time is the overhead of a call.
    "case_vc": _torus("case_vc", 5, (6, 5), (4, 4)),
    "case_vc_large": _torus("case_vc_large", 6, (14, 10), (10, 8)),
    # The functions in vcjax.problems describe the sizes of these problems.
    "w7x": partial(problems.w7x, digits=6),
    "rotating_ellipse": partial(problems.rotating_ellipse, digits=6),
}
"""The functions that make the problems; each takes the keywords ``digits`` and ``half_period``."""


def problem_named(
    name: str, *, digits: int | None = None, half_period: bool | None = None
) -> Problem:
    """Return the problem `name` of `CASES`; a keyword that is None gets the problem's default."""
    if name not in CASES:
        raise VcjaxError(f"problem_named got name={name!r}; give one of {', '.join(CASES)}.")
    given = {"digits": digits, "half_period": half_period}
    return CASES[name](**{key: value for key, value in given.items() if value is not None})
