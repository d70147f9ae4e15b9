"""Student's t distribution for whole degrees of freedom, in finite sums and without scipy.

Source: M. Abramowitz, I. A. Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
"""

from __future__ import annotations

import functools
import math


def two_sided_p(t: float, freedom: int) -> float:
    """The probability that Student's t is farther from 0 than ``t``.

    Parameters
    ----------
    t : float
        Of either sign; infinity gives 0.
    freedom : int
        Degrees of freedom, 1 or more.
    """
    angle = math.atan2(abs(t), math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    is_odd = freedom % 2 == 1
    # 26.7.3, odd: cos + 2/3 cos^3 + (2 4)/(3 5) cos^5 ...
    # 26.7.4, even: 1 + 1/2 cos^2 + (1 3)/(2 4) cos^4 ...
    term, total = cosine if is_odd else 1.0, 0.0
    for power in range(1 if is_odd else 0, freedom - 1, 2):
        total += term
        term *= cosine**2 * (power + 1) / (power + 2)
    inside = 2 / math.pi * (angle + sine * total) if is_odd else sine * total
    return min(1.0, max(0.0, 1.0 - inside))


@functools.cache
def two_sided_t(p: float, freedom: int) -> float:
    """The t that is exceeded, to either side, with probability ``p``; the inverse of the above.

    Parameters
    ----------
    p : float
        Between 0 and 1, both left out.
    freedom : int
        Degrees of freedom, 1 or more.
    """
    low, high = 0.0, 1.0
    while two_sided_p(high, freedom) > p:
        low, high = high, 2 * high
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if two_sided_p(middle, freedom) > p else (low, middle)
    return high
