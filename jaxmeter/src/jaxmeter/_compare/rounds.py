"""Times of two functions, measured side by side, and the ratio that they amount to."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from jaxmeter._records.record import Phases, Record
from jaxmeter.errors import JaxmeterError

PHASES = ("trace_seconds", "lower_seconds", "compile_seconds")
TIMES = ("steady_seconds", *PHASES)
"""The times of which a comparison speaks."""
_LEAST_SAMPLES_COUNT = 5
"""From so many samples on their scatter is taken to be known."""


@dataclass(frozen=True)
class Round:
    """Seconds of both functions, measured side by side: by one process, or by one each."""

    a: tuple[float, ...]
    b: tuple[float, ...]
    in_turns: bool = False
    """Whether the samples were taken in turns, so that the n-th of both belong together."""

    @property
    def ratio(self) -> float:
        """Of the second to the first: the median of the turns, or that of the medians."""
        if self.in_turns:
            return math.exp(statistics.median(self._logs()))
        return statistics.median(self.b) / statistics.median(self.a)

    @property
    def error(self) -> float | None:
        """The standard error of the ratio's logarithm; None if there are too few samples."""
        if min(len(self.a), len(self.b)) < _LEAST_SAMPLES_COUNT:
            return None
        if self.in_turns:
            return _median_error(self._logs())
        return math.hypot(*(_median_error([math.log(one) for one in x]) for x in (self.a, self.b)))

    def check(self, name: str) -> None:
        """Refuse what is no round of the time of that name.

        Raises
        ------
        JaxmeterError
            If a time is not a finite number above 0, or samples are missing.
        """
        for seconds in (*self.a, *self.b):
            if not (math.isfinite(seconds) and seconds > 0):
                raise JaxmeterError(
                    f"compare_times: got {seconds!r} among {name}; give seconds, finite and above 0"
                )
        if not self.a or not self.b or (self.in_turns and len(self.a) != len(self.b)):
            raise JaxmeterError(
                f"compare_times: got {len(self.a)} and {len(self.b)} samples of {name} in one "
                "round; give at least one of each, and as many of each if they were taken in turns"
            )

    def _logs(self) -> list[float]:
        return [math.log(b / a) for a, b in zip(self.a, self.b, strict=True)]


@dataclass(frozen=True)
class Ratio:
    """What a round told, where its seconds were not kept."""

    ratio: float
    error: float | None = None
    """The standard error of the ratio's logarithm; None if it is not known."""

    def check(self, name: str) -> None:
        """Refuse what is no ratio of times.

        Raises
        ------
        JaxmeterError
            If it is not a finite number above 0.
        """
        if not (math.isfinite(self.ratio) and self.ratio > 0):
            raise JaxmeterError(
                f"compare_times: got {self.ratio!r} among the ratios of {name}; give them finite "
                "and above 0"
            )


def steady_rounds(
    records_a: Sequence[Record], records_b: Sequence[Record], *, in_turns: bool = False
) -> list[Round]:
    """The rounds of steady-state times; ``in_turns`` if one process took both."""
    pairs = zip(records_a, records_b, strict=True)
    samples = ((a.samples_seconds, b.samples_seconds) for a, b in pairs)
    return [Round(a, b, in_turns) for a, b in samples if a and b]


def phase_rounds(
    compiles: Sequence[tuple[Sequence[Phases], Sequence[Phases]]],
) -> dict[str, list[Round]]:
    """The rounds of each phase, from compiles that processes made in turns."""
    return {
        phase: [
            Round(
                tuple(getattr(one, phase) for one in a),
                tuple(getattr(one, phase) for one in b),
                in_turns=True,
            )
            for a, b in compiles
            if a and b
        ]
        for phase in PHASES
    }


def _median_error(values: Sequence[float]) -> float:
    """The standard error of the median, sqrt(pi / 2 n) sigma for normal samples, with sigma from
    the interquartile range, which outliers do not change."""
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return math.sqrt(math.pi / (2 * len(values))) * (high - low) / 1.349
