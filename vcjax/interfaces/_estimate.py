"""Estimate the errors of the results of `vcjax.interfaces`, and warn if they are large."""

from collections.abc import Callable
from typing import Any

import numpy as np

from vcjax._errors import AccuracyWarning, made_up_data, warn
from vcjax.interfaces._surface_setup import SurfaceSetup

_LIMIT = 10.0
"""Warn only of estimates above `_LIMIT` times 10^-digits, because estimates are usually larger than
errors."""


def warn_of_estimate(call: str, estimate: float, digits: int) -> None:
    """Warn if an estimated error, relative to max |B|, is more than ten times 10^-digits."""
    if estimate > _LIMIT * 10.0**-digits:
        warn(
            call,
            f"has an estimated error of {estimate:.1g} of max |B|, but {digits} digits were asked "
            "for. Ask for more digits to get a finer quadrature, or give X and B on more points.",
            AccuracyWarning,
        )


def verify_quadrature(call: str, setup: SurfaceSetup, casing: Any, evaluate: Callable) -> None:
    """Separate a field known to be external, once for each rule; warn if the error is large.

    The known field is the sum of the field of a conductor on the z axis and a uniform vertical
    field. `evaluate` is the function that also evaluates the user's field, so that no other program
    is compiled.
    """
    if casing.rule in setup.verified:
        return
    setup.verified.add(casing.rule)
    least = np.hypot(*np.moveaxis(setup.X[..., :2], -1, 0)).min()
    known, sources = (
        least * setup.conductor_field(shape) + [0.0, 0.0, 1.0]
        for shape in (setup.trg_shape, setup.src_shape)
    )
    with made_up_data():
        separated = np.asarray(evaluate(casing, sources))
    # The known field is external. Therefore its external part is the whole field, and its internal
    # part is 0. `evaluate` returns one of the two parts.
    error = min(np.linalg.norm(separated - v, axis=2).max() for v in (known, 0.0))
    warn_of_estimate(call, float(error / np.linalg.norm(sources, axis=2).max()), casing.rule.digits)
