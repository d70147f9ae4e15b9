"""All timed cells at once: what each tells too faintly, they may tell together.

A change that touches every cell, as of a compiler's work, moves all their ratios alike, while the
machine's moods move each its own way; so the mean over the cells of a round scatters less than any.
Which of the cells moved it does not tell; so where one shows it alone, all are not mentioned.
"""

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass

from jaxmeter.rounds import Ratio

from ..metrics import Metric

FEWEST_ROUNDS = 3  # of a tested time; with fewer, no difference could be shown
Key = tuple[str, str]
"""A cell and the name of a metric."""


@dataclass(frozen=True)
class Together:
    """One metric over several cells: for each round the mean of their ratios."""

    metric: Metric
    cells: tuple[str, ...]
    base: float
    ratios: Mapping[int, Ratio]

    @property
    def name(self) -> str:
        return f"{len(self.cells)} timed cells together"


def together(
    metric: Metric,
    ratios: Mapping[Key, Mapping[int, Ratio]],
    medians: Mapping[Key, tuple[float, float]],
) -> Together | None:
    """The cells that have enough rounds in common; None if they are fewer than two.

    Parameters
    ----------
    ratios : mapping
        Of the cells that have enough rounds each, by round.
    medians : mapping
        Of BASE and of HEAD, in seconds; `base` is the sum over the cells.
    """
    keys = [key for key in ratios if key[1] == metric.name]
    shared = sorted(set.intersection(*(set(ratios[key]) for key in keys))) if keys else []
    if len(keys) < 2 or len(shared) < FEWEST_ROUNDS:
        return None
    means = {i: _mean([ratios[key][i] for key in keys]) for i in shared}
    base = sum(medians[key][0] for key in keys)
    return Together(metric, tuple(name for name, _ in keys), base, means)


def _mean(ratios: list[Ratio]) -> Ratio:
    """Geometric; its error is known where all are."""
    mean = math.exp(statistics.fmean(math.log(one.ratio) for one in ratios))
    errors = [one.error for one in ratios if one.error is not None]
    known = len(errors) == len(ratios)
    return Ratio(mean, math.hypot(*errors) / len(ratios) if known else None)
