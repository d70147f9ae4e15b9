"""Find change points: the points at which a series of numbers changes its level.

An exact number has a change point wherever it changes. A series of errors has a change point
wherever the error changes by more than the factor `ERROR_FACTOR`, or is finite on only one side.
Errors below `ROUNDING` count as `ROUNDING`. A noisy series is divided into levels in two ways.
`asv.step_detect` finds few change points. The kernel change-point detection of the package ruptures
finds more, but is wrong more often. ruptures may confirm a change point that asv finds. Change
points that only ruptures finds are marked "maybe".

Sources: asv uses F. Friedrich et al., Complexity penalized M-estimation, J. Comput. Graph. Stat. 17
(2008) 201. KernelCPD of ruptures uses S. Arlot, A. Celisse, Z. Harchaoui, A kernel multiple
change-point algorithm via model selection, J. Mach. Learn. Res. 20 (2019) 162.
"""

import itertools
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..errors import ReportError
from ..quantities import Kind, is_larger_error

try:
    import ruptures
except ImportError:
    ruptures = None

Finder = Literal["exact", "asv", "asv+ruptures", "ruptures"]

# Two levels count as equal if their relative difference is below this limit: such a difference is
# within machine noise and too small to act on.
SMALLEST_NOISY_STEP = 0.02
RESOLUTION = 1e-9  # resolution of clocks in seconds; bytes and counts are integers
FEWEST_POINTS = 6  # in a shorter noisy series, a new level looks like an outlier
SAME_STEP = 2  # points; asv and ruptures may place the same change point this far apart


@dataclass(frozen=True)
class Step:
    """A change point; `index` is the first point of the new level."""

    index: int
    before: float
    after: float
    found_by: Finder

    @property
    def ratio(self) -> float:
        """The ratio after/before; infinite if only `before` is 0, and 1 if both are 0."""
        if self.before == 0:
            return math.inf if self.after else 1.0
        return self.after / self.before

    @property
    def is_worse(self) -> bool:
        """Whether the number grew or became NaN."""
        return self.after > self.before or math.isnan(self.after)


def find_steps(values: Sequence[float], kind: Kind) -> tuple[Step, ...]:
    """Return the change points of a series that has one number for each commit, oldest first."""
    if kind == "exact":
        return _changes(values, lambda a, b: a != b)
    if kind == "error":
        return _changes(values, _error_moved)
    return _noisy_steps(values)


def _changes(values: Sequence[float], differ: Callable[[float, float], bool]) -> tuple[Step, ...]:
    pairs = enumerate(itertools.pairwise(values), start=1)
    return tuple(Step(i, a, b, "exact") for i, (a, b) in pairs if differ(a, b))


def _error_moved(before: float, after: float) -> bool:
    if math.isfinite(before) and math.isfinite(after):
        return is_larger_error(max(before, after), min(before, after))
    return math.isfinite(before) != math.isfinite(after)


def _noisy_steps(values: Sequence[float]) -> tuple[Step, ...]:
    """Return the change points of a noisy series, without changes that are too small."""
    if len(values) < FEWEST_POINTS or not np.isfinite(values).all():
        return ()
    first, second = _by_asv(values), _by_ruptures(values)
    found: list[tuple[int, Finder]] = [
        *((i, "asv+ruptures" if _is_near(i, second) else "asv") for i in first),
        *((i, "ruptures") for i in second if not _is_near(i, first)),
    ]
    found.sort()
    edges = itertools.pairwise([0, *(index for index, _ in found), len(values)])
    levels = itertools.pairwise(statistics.median(values[i:j]) for i, j in edges)
    steps = (Step(i, *level, by) for (i, by), level in zip(found, levels, strict=True))
    return tuple(
        step
        for step in steps
        if abs(step.after - step.before) > RESOLUTION and abs(step.ratio - 1) >= SMALLEST_NOISY_STEP
    )


def _is_near(index: int, others: Sequence[int]) -> bool:
    return any(abs(index - other) <= SAME_STEP for other in others)


def _by_asv(values: Sequence[float]) -> list[int]:
    try:
        from asv import step_detect
    except ImportError as error:
        raise ReportError(
            f"find_steps: asv cannot be imported ({error}); run pip install asv"
        ) from error
    return [left for left, *_ in step_detect.detect_steps(list(values))[1:]]


def _by_ruptures(values: Sequence[float]) -> list[int]:
    """Return the change points that the package ruptures finds.

    Return [] if ruptures is not installed or a value is not positive. ruptures gets the logarithms
    of the values, divided by their noise. The noise is estimated from the median absolute
    difference of neighbours, which a few jumps hardly change. A change point adds two parameters, a
    mean and a position. By the Bayesian information criterion, two parameters of a series of n
    values cost 2 ln(n) noise variances. The penalty is twice this cost, because times have heavy
    tails.
    """
    if ruptures is None or min(values) <= 0:
        return []
    logs = np.log(np.asarray(values, dtype=float))
    # 1.4826 median|x| is the standard deviation of a normally distributed x. The difference of two
    # neighbours has sqrt(2) times the standard deviation of one value.
    noise = 1.4826 * float(np.median(np.abs(np.diff(logs)))) / math.sqrt(2)
    scaled = (logs - np.median(logs)) / max(noise, 1e-3)
    model: Any = ruptures.KernelCPD(kernel="linear", min_size=2).fit(scaled[:, None])
    return [int(i) for i in model.predict(pen=4.0 * math.log(len(values)))[:-1]]
