"""Measure rounds of cases at several commits, interleaved, within a time budget."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import jaxmeter
from benchmarks.measuring.plan import PlannedCase
from benchmarks.measuring.runner import Workers
from benchmarks.measuring.store import RecordStore

ENOUGH_ROUNDS = 3  # times with fewer rounds are not tested
# Assumed time of a round that takes its program from the cache, as a share of the time of a round
# that compiles.
SHARE_OF_CACHED = 0.5


@dataclass(frozen=True)
class MeasuredSide:
    """A side of a pair: a commit, with its store and the workers that import its package.

    `name` is "base" or "head". `pair` is the folder of the pair, which a review reads.
    """

    name: str
    pair: Path
    store: RecordStore
    workers: Workers

    @property
    def details(self) -> Path:
        """The folder with a description of each operation's compiled programs."""
        return self.pair / "details" / self.name

    @property
    def package(self) -> Path:
        """The folder of the measured package ``vcjax``."""
        return self.workers.imports / "vcjax"


def measure_interleaved(
    cases: Sequence[PlannedCase],
    measured: Sequence[MeasuredSide],
    costs: Mapping[str, float],
    *,
    budget_seconds: float,
    max_load: float = math.inf,
    clock: Callable[[], float] = time.monotonic,
    load: Callable[[], float | None] = jaxmeter.load_1min,
) -> None:
    """Measure all rounds except the first round of each case, until the budget is spent.

    Each round is measured on all sides. `costs` has the seconds of each case's first round. Cases
    with changed programs come first. A case that cannot get enough rounds for a
    significance test is left out, except the first case. If the load of the machine is above
    `max_load`, no round is measured, because times would scatter too much.
    """
    started = clock()
    if (met := load() or 0.0) > max_load:
        print(
            f"times are not judged: the load {met:.1f} is above {max_load:.1f}, the product of "
            "--max-load and the number of CPUs; stop other programs, then run the command again",
            flush=True,
        )
        return
    ordered = sorted(cases, key=lambda case: not has_changed(case, measured))
    needed = {case.name: seconds_to_test(case, costs, measured) for case in ordered}
    names = affordable(needed, budget_seconds, "case")
    kept = [case for case in ordered if case.name in names]
    for turn, number in enumerate(round_order(kept), start=1):
        for case in kept:
            if number >= case.rounds:
                continue
            if clock() - started + _expected_seconds(case, number, costs) > budget_seconds:
                print(f"the budget of {budget_seconds:.0f} s is spent", flush=True)
                return
            # The previous case affects the side that is measured first, so the order alternates.
            _measure_round(case, number, measured if turn % 2 == 0 else measured[::-1])


def measure_first_round(
    cases: Sequence[PlannedCase], measured: Sequence[MeasuredSide]
) -> dict[str, float]:
    """Measure the first round of each case; return its seconds by case, summed over all sides.

    The preparation of a case is not included, because later rounds do not repeat it.
    """
    costs = {}
    for case in cases:
        _measure_round(case, 0, measured)
        records = [side.store.read(case, 0) for side in measured]
        costs[case.name] = sum(one.wall_seconds or 0.0 for one in records if one is not None)
    return costs


def seconds_to_test(
    case: PlannedCase, costs: Mapping[str, float], measured: Sequence[MeasuredSide]
) -> float:
    """Estimate the seconds after round 0 until a case has enough rounds for a significance test.

    Stored rounds take no time.
    """
    numbers = range(1, min(ENOUGH_ROUNDS, case.rounds))
    missing = [number for number in numbers if not _is_stored(case, number, measured)]
    return sum(_expected_seconds(case, number, costs) for number in missing)


def _expected_seconds(case: PlannedCase, number: int, costs: Mapping[str, float]) -> float:
    return costs[case.name] * (SHARE_OF_CACHED if case.is_cached(number) else 1.0)


def has_changed(case: PlannedCase, measured: Sequence[MeasuredSide]) -> bool:
    """Return whether the programs of a case differ between the sides, or are not all known."""
    records = [side.store.read(case, 0) for side in measured]
    known = {None if r is None else r.program.hlo_fingerprint for r in records}
    return len(known) > 1 or None in known


def affordable(
    needed: Mapping[str, float], left_seconds: float, kind: str, *, start_seconds: float = 0.0
) -> list[str]:
    """Return the names of cases or operations that can be measured in the time left.

    `needed` has the seconds by name, in addition to `start_seconds` for all of them. Names are
    chosen in the order of `needed`. The first name is always chosen. If a name is left out, the
    message calls each case or operation a `kind`.
    """
    kept: list[str] = []
    left = max(left_seconds, 0.0)
    spare = left - start_seconds
    for name, seconds in needed.items():
        if not kept or seconds <= max(spare, 0.0):
            kept.append(name)
            spare -= seconds
    if rest := [name for name in needed if name not in kept]:
        total = start_seconds + sum(needed.values())
        print(
            f"{ENOUGH_ROUNDS} rounds of every {kind} take about {total:.0f} s more, but {left:.0f} "
            f"s are left. The times of {', '.join(rest)} will not be judged; increase --budget by "
            f"{2 * (total - left):.0f} s to judge these times too",
            flush=True,
        )
    return kept


def round_order(cases: Sequence[PlannedCase]) -> list[int]:
    """Return the numbers of the rounds after the first, in the order in which they are measured.

    Rounds that compile come first, as many as a significance test of compile times needs. These
    rounds measure steady-state times too. The other rounds that compile follow, each after at most
    two rounds that do not compile.
    """
    compiled = sorted(
        {n for case in cases for n in range(case.rounds) if not case.is_cached(n)} - {0}
    )
    cached = sorted({n for case in cases for n in range(case.rounds) if case.is_cached(n)})
    order, compiled = compiled[: ENOUGH_ROUNDS - 1], compiled[ENOUGH_ROUNDS - 1 :]
    while compiled or cached:
        order += cached[:2] + compiled[:1]
        cached, compiled = cached[2:], compiled[1:]
    return order


def _is_stored(case: PlannedCase, number: int, measured: Sequence[MeasuredSide]) -> bool:
    """Return whether a round is stored with success on all sides.

    Any other round is measured on all sides. Otherwise new records would be compared with old
    records, and the speed of the machine may have changed since then.
    """
    records = [side.store.read(case, number) for side in measured]
    return all(record is not None and record.status == "ok" for record in records)


def _measure_round(case: PlannedCase, number: int, order: Sequence[MeasuredSide]) -> None:
    if _is_stored(case, number, order):
        return
    print(f"round {number} of {case.name}: ", end="", flush=True)
    for side in order:
        record = side.workers.measure(case, number)
        side.store.write(case, number, record)
        end = "\n" if side is order[-1] else "; "
        result = f"{side.name} {record.status}, {record.wall_seconds or 0:.1f} s"
        print(result, end=end, flush=True)
