"""Judge the rows of `python -m studies trust measure` with the code of `jaxmeter.compare`.

    python -m studies verdicts quiet=pairs.jsonl loaded=loaded.jsonl

``rounds.csv.gz`` keeps the ratios of each process. ``samples.csv`` counts how often designs that
`jaxmeter.compare` does not follow call two functions different; these need all samples, which are
not kept. ``verdicts.csv``, made from the rounds, counts the verdicts of `jaxmeter.compare` for each
condition, study, effect and number of processes, separately with and without compile times. Rows
of other conditions stay; without a file the verdicts alone are made again.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
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
from studies.trust.pairs import EQUAL

PROCESSES = (3, 4, 6, 8)
CRITERIA = Criteria()
PHASE_COLUMNS = tuple(phase.replace("_seconds", "_ratio") for phase in PHASES)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("rows", nargs="*", metavar="CONDITION=FILE")
    parser.add_argument("--out", type=Path, default=measured("trust", ""), help="folder of tables")


def run(options: argparse.Namespace) -> int:
    """Keep the rounds, and write both tables."""
    rounds_file, samples_file = options.out / "rounds.csv.gz", options.out / "samples.csv"
    rounds, samples = read_rows(rounds_file), read_rows(samples_file)
    for given in options.rows:
        condition, _, file = given.partition("=")
        rows = read_rows(Path(file))
        if not rows:
            raise StudyError(f"got {given!r}; give CONDITION=FILE of rows that trust measured")
        rounds = [row for row in rounds if row["condition"] != condition]
        rounds += [round_row(condition, row) for row in rows]
        samples = [row for row in samples if row["condition"] != condition]
        samples += sample_rows(condition, rows)
    if options.rows:
        write_rows(rounds_file, rounds)
        write_rows(samples_file, samples)
    write_rows(options.out / "verdicts.csv", verdict_rows(read_rows(rounds_file)))
    print((options.out / "verdicts.csv").read_text(), end="")
    return 0


def round_row(condition: str, row: Row) -> Row:
    """Return the part of a measured row that is kept."""
    steady = Round.from_samples(row["a"], row["b"], interleaved=True)
    a, b = row["compiles"]
    phases = zip(PHASE_COLUMNS, zip(*a, strict=True), zip(*b, strict=True), strict=False)
    rounds = {name: Round.from_samples(*both, interleaved=True) for name, *both in phases}
    return {
        "condition": condition,
        **{name: row[name] for name in ("study", "form", "kind", "effect", "seed", "process")},
        "compiles": len(a),
        "a_seconds": f"{statistics.median(row['a']):.4g}",
        "steady_ratio": round(steady.ratio, 4),
        "steady_error": f"{steady.error or 0.0:.2g}",
        **{n: round(rounds[n].ratio, 4) if n in rounds else "" for n in PHASE_COLUMNS},
        "exact": " ".join(row["exact"]),
        "load_1min": row["load_1min"] and round(row["load_1min"], 1),
        "utc": row["utc"],
    }


def groups(rows: Iterable[Row], *names: str) -> list[tuple[tuple, list[list[Row]]]]:
    """Group rows by these columns: for each group its pairs, for each pair a row per process."""
    pairs: dict[tuple, list[Row]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: int(row["process"])):
        pairs[tuple(row[name] for name in (*names, "form", "kind", "seed"))].append(row)
    found: dict[tuple, list[list[Row]]] = defaultdict(list)
    for key, pair in pairs.items():
        found[key[: len(names)]].append(pair)
    return sorted(found.items())


def sample_rows(condition: str, rows: Sequence[Row]) -> Iterator[Row]:
    """Yield a row for each study, effect, number of processes and design."""
    for (study, effect), pairs in groups(rows, "study", "effect"):
        for name, (design, counts) in DESIGNS.items():
            for count in counts:
                enough = [pair[: max(count, 2)] for pair in pairs if len(pair) >= max(count, 3)]
                if enough:
                    yield {
                        "condition": condition,
                        "study": study,
                        "effect": effect,
                        "processes": count,
                        "design": name,
                        "pairs": len(enough),
                        "different": sum(design(pair) for pair in enough),
                    }


def one_function_per_process(pair: Sequence[Row]) -> bool:
    """Compare the first function of each process with the second function of the next."""
    rounds = [
        Round.from_samples(one["a"], other["b"])
        for one, other in zip(pair, [*pair[1:], pair[0]], strict=True)
    ]
    (timing,) = compare_times({"steady_seconds": rounds}, CRITERIA)
    return timing.verdict == "different"


def two_processes(pair: Sequence[Row]) -> bool:
    """Measure one function in each of two processes, and test the samples."""
    return mannwhitneyu(pair[0]["a"], pair[1]["b"]).pvalue < CRITERIA.significance


def interleaved(pair: Sequence[Row]) -> bool:
    """Interleave both functions in one process, and test the samples."""
    return mannwhitneyu(pair[0]["a"], pair[0]["b"]).pvalue < CRITERIA.significance


def two_processes_and_effect(pair: Sequence[Row]) -> bool:
    """Test the samples of two processes, and require the least effect between their medians."""
    ratio = statistics.median(pair[1]["b"]) / statistics.median(pair[0]["a"])
    return abs(math.log(ratio)) > math.log1p(CRITERIA.minimum_effect) and two_processes(pair)


DESIGNS: dict[str, tuple[Callable[[Sequence[Row]], bool], tuple[int, ...]]] = {
    "one function per process": (one_function_per_process, PROCESSES),
    "samples, interleaved": (interleaved, (1,)),
    "samples, two processes": (two_processes, (1,)),
    "samples, two processes, 3 %": (two_processes_and_effect, (1,)),
}
"""Each design with its numbers of processes; 1 also stands for one process of each function."""


def verdict_rows(rounds: Sequence[Row]) -> Iterator[Row]:
    """Yield a row for each condition, study, effect, with or without phases, and process count."""
    names = ("condition", "study", "effect", "has_phases")
    marked = [row | {"has_phases": row[PHASE_COLUMNS[0]] != ""} for row in rounds]
    for group, pairs in groups(marked, *names):
        for count in PROCESSES:
            enough = [pair[:count] for pair in pairs if len(pair) >= count]
            if enough:
                found = {"processes": count, **verdict_counts(enough)}
                yield dict(zip(names, group, strict=True)) | found


def verdict_counts(pairs: Sequence[Sequence[Row]]) -> Row:
    """Count the verdicts; return the medians of the ratios and of their intervals' half widths."""
    found = [compared(pair) for pair in pairs]
    verdicts = [one.verdict for one in found]
    differing = [one.quantity for comparison in found for one in comparison.differences]
    loads = [float(row["load_1min"]) for pair in pairs for row in pair if row["load_1min"]]
    medians = {}
    for place, time in enumerate(TIMES):
        known = [one.timings[place] for one in found if len(one.timings) > place]
        name = time.removesuffix("_seconds")
        widths = [one.high / one.ratio - 1 for one in known]
        medians |= {
            f"{name}_ratio": known and round(statistics.median(one.ratio for one in known), 4),
            f"{name}_half_width": known and round(statistics.median(widths), 4),
        }
    return {
        "load_1min": round(statistics.median(loads), 1) if loads else "",
        "pairs": len(pairs),
        **{verdict: verdicts.count(verdict) for verdict in ("same", "inconclusive", "different")},
        **{f"{time.removesuffix('_seconds')}_different": differing.count(time) for time in TIMES},
        "steady_one_side": sum(map(all_on_one_side, found)),
        **{name: "" if value == [] else value for name, value in medians.items()},
    }


def compared(pair: Sequence[Row]) -> Comparison:
    """Return the comparison of `jaxmeter.compare` for the ratios that processes measured."""
    quantities = {
        "steady_seconds": [
            Round(float(row["steady_ratio"]), float(row["steady_error"])) for row in pair
        ]
    }
    for phase, column in zip(PHASES, PHASE_COLUMNS, strict=True):
        quantities[phase] = [Round(float(row[column])) for row in pair if row[column]]
    exact = ()
    if pair[0]["study"] == EQUAL:  # all others differ on purpose
        names = dict.fromkeys(name for row in pair for name in row["exact"].split())
        exact = tuple(Exact(name, (), (), "different", "not equal") for name in names)
    timings = compare_times(quantities, CRITERIA, times_count=len(TIMES))
    return Comparison("a", "b", exact, timings, CRITERIA, Effort())


def all_on_one_side(found: Comparison) -> bool:
    """Whether all ratios lie on one side of 1 and their median beyond the least effect."""
    logs = [math.log(ratio) for ratio in found.timings[0].ratios]
    same_side = all(one > 0 for one in logs) or all(one < 0 for one in logs)
    return same_side and abs(statistics.median(logs)) > math.log1p(CRITERIA.minimum_effect)
