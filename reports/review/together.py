"""All timed cases at once: what each tells too faintly, they may tell together.

A change that touches every case, as of a compiler's work, moves all their ratios alike, while the
machine's moods move each its own way: two processes of a case follow each other, and no two cases
run at once. So the rounds of all cases are one sample, larger than that of any. Which of the cases
moved it does not tell; so where one shows it alone, all are not mentioned.

Each round has one voice there, however little its calls scatter. How far a case's processes differ
beyond what their calls tell is not the same for all cases, and weights that leave it out would let
the case with the steadiest calls decide alone. What disturbs a whole process, trimming makes
harmless.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jaxmeter import Ratio

from ..metrics import Metric

Key = tuple[str, str]
"""A case and the name of a metric."""


@dataclass(frozen=True)
class Together:
    """One metric over several cases: the rounds of all of them."""

    metric: Metric
    cases: tuple[str, ...]
    base: float
    ratios: Sequence[Ratio]

    @property
    def name(self) -> str:
        return f"{len(self.cases)} timed cases together"


def together(
    metric: Metric,
    ratios: Mapping[Key, Sequence[Ratio]],
    medians: Mapping[Key, tuple[float, float]],
) -> Together | None:
    """The cases that have enough rounds each; None if they are fewer than two.

    Parameters
    ----------
    ratios : mapping
        Of the cases that have enough rounds each, one for each round.
    medians : mapping
        Of BASE and of HEAD, in seconds; `base` is the sum over the cases.
    """
    keys = [key for key in ratios if key[1] == metric.name]
    if len(keys) < 2:
        return None
    base = sum(medians[key][0] for key in keys)
    every = [Ratio(one.ratio) for key in keys for one in ratios[key]]
    return Together(metric, tuple(name for name, _ in keys), base, every)
