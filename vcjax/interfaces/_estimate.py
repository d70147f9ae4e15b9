"""Estimates of the error that the classes of this package make unasked, and their warnings."""

from collections.abc import Callable
from typing import Any

import numpy as np

from vcjax._errors import AccuracyWarning, made_up_data, warn
from vcjax._geometry.surface import surface_frame
from vcjax.interfaces._surface_setup import SurfaceSetup

_LIMIT = 10.0
"""Estimates above the digits by less are no reason to warn: they are upper bounds."""


def warn_of_estimate(call: str, estimate: float, digits: int) -> None:
    """Warn of a result with an estimated error, over max |B|, above the digits asked for."""
    if estimate > _LIMIT * 10.0**-digits:
        warn(
            call,
            f"has an estimated error of {estimate:.1g} of max |B|, and {digits} digits were asked "
            "for. Give B on more points, or set up for more digits.",
            AccuracyWarning,
        )


def verify_quadrature(call: str, setup: SurfaceSetup, casing: Any, evaluate: Callable) -> None:
    """Evaluate a field known to be external, once for each casing, and warn of a large error.

    The field is that of a conductor on the axis and a vertical one. The evaluation is the compiled
    one that the user's field takes.
    """
    if casing in setup.verified:
        return
    setup.verified.add(casing)
    known, sources = (_known_field(setup, shape) for shape in (setup.trg_shape, setup.src_shape))
    with made_up_data():
        separated = np.asarray(evaluate(casing, sources))
    # All of the field is external, or none of it internal.
    error = min(np.linalg.norm(separated - v, axis=2).max() for v in (known, 0.0))
    warn_of_estimate(call, float(error / np.linalg.norm(sources, axis=2).max()), casing.rule.digits)


def _known_field(setup: SurfaceSetup, shape: tuple[int, int]) -> np.ndarray:
    symmetry = setup.nfp, setup.half_period
    (x, y, _), *_ = (
        np.moveaxis(v, -1, 0) for v in surface_frame("setup", setup.X, *symmetry, *shape)
    )
    radius = np.hypot(x, y)
    least = np.hypot(*np.moveaxis(setup.X[..., :2], -1, 0)).min()
    return np.stack([-y * least / radius**2, x * least / radius**2, np.ones_like(x)], axis=-1)
