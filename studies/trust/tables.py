"""Judge what each process of the studies found, with the very code of `jaxmeter.compare`.

``python trust_tables.py measured`` reads ``trust_rounds.csv.gz`` there and writes ``trust.csv``: a
row for each condition, study, effect and number of processes; pairs whose compiling was measured
and those of which it was not stand apart. Each time has a fourth of the rule's significance,
whether the other three were measured or not, as in `jaxmeter.compare`.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from jaxmeter import PHASES, TIMES, Comparison, Effort, Exact, Round, compare_times
from studies.trust.rounds import PHASE_COLUMNS, PROCESSES, RULE, Row, read, rounds_of, write

PAIR = ("condition", "study", "form", "kind", "effect", "seed")
GROUP = ("condition", "study", "effect", "has_phases")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    table = list(judged(read(rounds_of(options.folder))))
    write(options.folder / "verdicts.csv", table)
    print((options.folder / "verdicts.csv").read_text())


def judged(rounds: Sequence[Row]) -> Iterator[Row]:
    """A line for each condition, study, effect, with phases or without, and number of processes."""
    pairs: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in sorted(rounds, key=lambda row: int(row["process"])):
        pairs[tuple(row[name] for name in PAIR)].append(row)
    groups: dict[tuple[str, str, float, bool], list[list[Row]]] = defaultdict(list)
    for inside in pairs.values():
        one = inside[0]
        has_phases = one[PHASE_COLUMNS[0]] != ""
        groups[one["condition"], one["study"], float(one["effect"]), has_phases].append(inside)
    for group, found in sorted(groups.items()):
        for count in PROCESSES:
            enough = [pair[:count] for pair in found if len(pair) >= count]
            if enough:
                yield dict(zip(GROUP, group, strict=True)) | _counted(enough, count)


def _counted(pairs: Sequence[Sequence[Row]], count: int) -> Row:
    found = [compared(pair) for pair in pairs]
    verdicts = [one.verdict for one in found]
    differing = [one.quantity for comparison in found for one in comparison.differences]
    steady = [one.timings[0] for one in found]
    loads = [float(row["load_1min"]) for pair in pairs for row in pair if row["load_1min"]]
    return {
        "processes": count,
        "load_1min": round(statistics.median(loads), 1) if loads else "",
        "pairs": len(pairs),
        **{verdict: verdicts.count(verdict) for verdict in ("same", "inconclusive", "different")},
        **{f"{time.removesuffix('_seconds')}_different": differing.count(time) for time in TIMES},
        "steady_one_side": sum(map(_all_on_one_side, found)),
        # The truth of what was planted, and how wide the intervals are.
        "steady_ratio": round(statistics.median(one.ratio for one in steady), 4),
        "steady_reach": round(statistics.median(one.high / one.ratio - 1 for one in steady), 4),
        **_of_phases(found),
    }


def _of_phases(found: Sequence[Comparison]) -> Row:
    columns = {}
    for place, phase in enumerate(PHASES, 1):
        known = [one.timings[place] for one in found if len(one.timings) > place]
        name = phase.removesuffix("_seconds")
        ratio = statistics.median(one.ratio for one in known) if known else math.nan
        reach = statistics.median(one.high / one.ratio - 1 for one in known) if known else math.nan
        columns |= {f"{name}_ratio": round(ratio, 4), f"{name}_reach": round(reach, 4)}
    return {name: "" if math.isnan(number) else number for name, number in columns.items()}


def compared(pair: Sequence[Row]) -> Comparison:
    """What `jaxmeter.compare` says of processes that found so much."""
    quantities = {
        "steady_seconds": [
            Round(float(row["steady_ratio"]), float(row["steady_error"])) for row in pair
        ]
    }
    for phase, column in zip(PHASES, PHASE_COLUMNS, strict=True):
        quantities[phase] = [Round(float(row[column])) for row in pair if row[column]]
    exact = ()
    if pair[0]["study"] == "aa":  # all others differ by intent
        names = dict.fromkeys(name for row in pair for name in row["exact"].split())
        exact = tuple(Exact(name, (), (), "different", "not equal") for name in names)
    timings = compare_times(quantities, RULE, times_count=len(TIMES))
    return Comparison("a", "b", exact, timings, RULE, Effort())


def _all_on_one_side(found: Comparison) -> bool:
    """All ratios on one side of 1, and their median farther from it than the least effect: a rule
    that needs no statistics, for comparison."""
    logs = [math.log(ratio) for ratio in found.timings[0].ratios]
    same_side = all(one > 0 for one in logs) or all(one < 0 for one in logs)
    return same_side and abs(statistics.median(logs)) > math.log1p(RULE.minimum_effect)


if __name__ == "__main__":
    main()
