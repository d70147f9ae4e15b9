"""Compute the verdicts of `jaxmeter.compare` for rows of `python -m studies trust measure`.

    python -m studies verdicts quiet=pairs.jsonl loaded=loaded.jsonl     # CONDITION=FILE ...

The command writes three tables:

- ``rounds.csv.gz`` has a row of time ratios for each pair of functions in each process.

- ``samples.csv`` counts how often each of the `DESIGNS` reports a difference between two functions.
  `jaxmeter.compare` uses none of these designs. The designs need all samples, which only the given
  files contain.

- ``verdicts.csv`` is made from ``rounds.csv.gz``. It counts the verdicts of `jaxmeter.compare` for
  each condition, study, effect and number of processes. Pairs with and without compile times are
  counted separately.

A condition is the state of the machine, such as quiet or loaded. Rows of conditions that are not
given stay in the tables. If no file is given, only ``verdicts.csv`` is written again.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from scipy.stats import mannwhitneyu

from jaxmeter import (
    PHASES,
    TIMES,
    Comparison,
    Criteria,
    Effort,
    Exact,
    Round,
    compare_times,
)
from studies.harness import Row, StudyError, measured, read_rows, write_rows
from studies.trust.measure import EQUAL

PROCESSES = (3, 4, 6, 8)
CRITERIA = Criteria()
PHASE_COLUMNS = tuple(phase.replace("_seconds", "_ratio") for phase in PHASES)
Processes = Sequence[Row]
"""The rows of a pair of functions, one for each process."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this study to its parser."""
    about = "a condition, and the file of the rows that were measured in this condition"
    parser.add_argument("rows", nargs="*", metavar="CONDITION=FILE", help=about)
    parser.add_argument("--out", type=Path, default=measured("trust", ""), help="folder of tables")


def run(options: argparse.Namespace) -> int:
    """Write the tables of rounds and samples from the given files, then the table of verdicts."""
    measured_rows: dict[str, list[Row]] = defaultdict(list)
    for given in options.rows:
        condition, _, file = given.partition("=")
        rows = read_rows(Path(file)) if file else []
        measured_rows[condition] += ({"condition": condition, **row} for row in rows)
        if not rows:
            raise StudyError(
                f"got {given!r}, which names no file with rows; give CONDITION=FILE, with a FILE "
                "that `python -m studies trust measure` wrote"
            )
    for condition, rows in measured_rows.items():
        new = {"rounds.csv.gz": map(round_row, rows), "samples.csv": sample_rows(rows)}
        for name, of_condition in new.items():
            kept = [row for row in read_rows(options.out / name) if row["condition"] != condition]
            write_rows(options.out / name, [*kept, *of_condition])
    write_rows(options.out / "verdicts.csv", verdict_rows(read_rows(options.out / "rounds.csv.gz")))
    print((options.out / "verdicts.csv").read_text(), end="")
    return 0


def round_row(row: Row) -> Row:
    """Return the row of ``rounds.csv.gz`` for a row of `python -m studies trust measure`."""
    steady = Round.from_samples(row["a"], row["b"], interleaved=True)
    a, b = row["compiles"]
    phases = zip(PHASE_COLUMNS, zip(*a, strict=True), zip(*b, strict=True), strict=False)
    rounds = {name: Round.from_samples(*both, interleaved=True) for name, *both in phases}
    kept = ("condition", "study", "form", "kind", "effect", "seed", "process")
    return {
        **{name: row[name] for name in kept},
        "compiles": len(a),
        "a_seconds": f"{statistics.median(row['a']):.4g}",
        "steady_ratio": round(steady.ratio, 4),
        "steady_error": f"{steady.error or 0.0:.2g}",
        **{n: round(rounds[n].ratio, 4) if n in rounds else "" for n in PHASE_COLUMNS},
        "exact": " ".join(row["exact"]),
        "load_1min": row["load_1min"] and round(row["load_1min"], 1),
        "utc": row["utc"],
    }


def counted(
    rows: Iterable[Row],
    names: Sequence[str],
    counts: Sequence[int],
    judge: Callable[[list[Processes]], Row],
) -> Iterator[Row]:
    """Yield a row for each group of `rows` and each number of processes in `counts`.

    A group is all rows with the same values in the columns `names`. The yielded row has these
    values, the number of processes, and the result of `judge` for the pairs of the group. Pairs
    with too few processes are left out.
    """
    group, pair = itemgetter(*names), itemgetter(*names, "form", "kind", "seed")
    ordered = sorted(rows, key=lambda row: (*pair(row), int(row["process"])))
    for key, some in groupby(ordered, group):
        pairs = [list(processes) for _, processes in groupby(some, pair)]
        for count in counts:
            enough: list[Processes] = [one[:count] for one in pairs if len(one) >= count]
            if enough:
                yield dict(zip(names, key, strict=True)) | {"processes": count} | judge(enough)


def one_function_per_process(pair: Processes) -> bool:
    """Return whether a pair would be found different if each process measured one function only.

    To imitate such processes, the first function's samples in each process are compared with the
    second function's samples in the next process. For the last process, the next process is the
    first process.
    """
    rounds = [
        Round.from_samples(one["a"], other["b"])
        for one, other in zip(pair, [*pair[1:], pair[0]], strict=True)
    ]
    (timing,) = compare_times({"steady_seconds": rounds}, CRITERIA)
    return timing.verdict == "different"


def samples_differ(pair: Processes) -> bool:
    """Return whether a Mann-Whitney test finds a difference between the samples of a pair.

    The test compares the first function's samples in the pair's first process with the second
    function's samples in the pair's last process.
    """
    return mannwhitneyu(pair[0]["a"], pair[-1]["b"]).pvalue < CRITERIA.significance


def samples_and_medians_differ(pair: Processes) -> bool:
    """Return whether the samples of a pair differ, and their medians differ as well.

    See `samples_differ` for the samples. Their medians must differ by more than the least effect
    of `CRITERIA`.
    """
    ratio = statistics.median(pair[-1]["b"]) / statistics.median(pair[0]["a"])
    return abs(math.log(ratio)) > math.log1p(CRITERIA.minimum_effect) and samples_differ(pair)


DESIGNS: dict[str, tuple[Callable[[Processes], bool], tuple[int, ...]]] = {
    "one function per process": (one_function_per_process, PROCESSES),
    "samples, interleaved": (samples_differ, (1,)),
    "samples, two processes": (samples_differ, (2,)),
    "samples, two processes, 3 %": (samples_and_medians_differ, (2,)),
}
"""For each design: the function that judges a pair, and the numbers of processes for each pair."""


def sample_rows(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield a row for each design, condition, study, effect and number of processes."""
    for name, (design, counts) in DESIGNS.items():

        def judge(pairs, name=name, design=design):
            return {"design": name, "pairs": len(pairs), "different": sum(map(design, pairs))}

        yield from counted(rows, ("condition", "study", "effect"), counts, judge)


def verdict_rows(rounds: Sequence[Row]) -> Iterator[Row]:
    """Yield a row for each condition, study, effect and number of processes.

    Pairs that have the times to trace, lower and compile are counted in separate rows.
    """
    marked = [row | {"has_phases": row[PHASE_COLUMNS[0]] != ""} for row in rounds]
    names = ("condition", "study", "effect", "has_phases")
    return counted(marked, names, PROCESSES, verdict_counts)


def verdict_counts(pairs: Sequence[Processes]) -> Row:
    """Return the counts of verdicts, the median ratios and the median half widths.

    The half width of a ratio is the upper end of its confidence interval divided by the ratio,
    minus 1.
    """
    found = [compared(pair) for pair in pairs]
    verdicts = Counter(one.verdict for one in found)
    differing = Counter(one.quantity for comparison in found for one in comparison.differences)
    loads = [float(row["load_1min"]) for pair in pairs for row in pair if row["load_1min"]]
    counts: Row = {"load_1min": _median(loads, 1), "pairs": len(pairs)}
    counts |= {verdict: verdicts[verdict] for verdict in ("same", "inconclusive", "different")}
    names = {time: time.removesuffix("_seconds") for time in TIMES}
    counts |= {f"{name}_different": differing[time] for time, name in names.items()}
    counts["steady_one_side"] = sum(map(all_on_one_side, found))
    every = [timing for comparison in found for timing in comparison.timings]
    for time, name in names.items():
        timings = [one for one in every if one.quantity == time]
        counts[f"{name}_ratio"] = _median([one.ratio for one in timings], 4)
        counts[f"{name}_half_width"] = _median([one.high / one.ratio - 1 for one in timings], 4)
    return counts


def _median(values: Sequence[float], digits: int) -> float | str:
    return round(statistics.median(values), digits) if values else ""


def compared(pair: Processes) -> Comparison:
    """Return the comparison that `jaxmeter.compare` would make from the ratios of a pair."""
    steady = [Round(float(row["steady_ratio"]), float(row["steady_error"])) for row in pair]
    quantities = {"steady_seconds": steady}
    for phase, column in zip(PHASES, PHASE_COLUMNS, strict=True):
        quantities[phase] = [Round(float(row[column])) for row in pair if row[column]]
    exact = ()
    if pair[0]["study"] == EQUAL:  # the functions of other pairs differ on purpose
        names = dict.fromkeys(name for row in pair for name in row["exact"].split())
        exact = tuple(Exact(name, (), (), "different", "not equal") for name in names)
    timings = compare_times(quantities, CRITERIA, times_count=len(TIMES))
    return Comparison("a", "b", exact, timings, CRITERIA, Effort())


def all_on_one_side(found: Comparison) -> bool:
    """Return whether all steady-state ratios are on one side of 1, and their median is far from 1.

    The median must differ from 1 by more than the least effect of `CRITERIA`.
    """
    logs = [math.log(ratio) for ratio in found.timings[0].ratios]
    same_side = min(logs) > 0 or max(logs) < 0
    return same_side and abs(statistics.median(logs)) > math.log1p(CRITERIA.minimum_effect)
