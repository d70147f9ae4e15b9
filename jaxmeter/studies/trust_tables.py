"""Judge what `trust.py` measured: how often each design calls two functions different.

``python trust_tables.py quiet=quiet.jsonl loaded=loaded.jsonl --out measured`` writes the table
``trust.csv``, a row for each condition, study, effect, number of processes and design; and
``trust_rounds.csv.gz``, what each process found of each pair.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from scipy.stats import mannwhitneyu

from jaxmeter.comparison import PHASES, Round, compare_times
from jaxmeter.comparison_record import Rule

PROCESSES = (3, 4, 6, 8)
RULE = Rule()
Row = dict[str, Any]
ROUND_COLUMNS = (
    *("condition", "study", "form", "kind", "effect", "seed", "process", "a_seconds"),
    *(
        "settled_ratio",
        "settled_error",
        *(phase.replace("_seconds", "_ratio") for phase in PHASES),
        "exact",
    ),
    *("load_1min", "utc"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="+", metavar="CONDITION=FILE")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    table: list[Row] = []
    rounds = io.StringIO()
    writer = csv.writer(rounds, lineterminator="\n")
    writer.writerow(ROUND_COLUMNS)
    for given in options.rows:
        condition, _, file = given.partition("=")
        rows = [json.loads(line) for line in Path(file).read_text().splitlines()]
        writer.writerows(_round_line(condition, row) for row in rows)
        table += judged(condition, rows)
    with gzip.GzipFile(options.out / "trust_rounds.csv.gz", "wb", mtime=0) as packed:
        packed.write(rounds.getvalue().encode())
    with (options.out / "trust.csv").open("w", newline="") as file:
        lines = csv.DictWriter(file, table[0], lineterminator="\n")
        lines.writeheader()
        lines.writerows(table)
    print((options.out / "trust.csv").read_text())


def judged(condition: str, rows: list[Row]) -> Iterator[Row]:
    """A line for each study, effect, number of processes and design."""
    pairs: dict[str, dict[int, Row]] = defaultdict(dict)
    for row in rows:
        pairs[row["key"]][row["process"]] = row
    groups: dict[tuple[str, float], list[list[Row]]] = defaultdict(list)
    for processes in pairs.values():
        inside = [processes[number] for number in sorted(processes)]
        groups[inside[0]["study"], inside[0]["effect"]].append(inside)
    for (study, effect), found in sorted(groups.items()):
        for count in PROCESSES:
            enough = [pair[:count] for pair in found if len(pair) >= count]
            for name, design in DESIGNS.items():
                if not enough or (design in _ONE_PROCESS and count != PROCESSES[0]):
                    continue
                different = sum(design(pair) for pair in enough)
                loads = [row["load_1min"] for pair in enough for row in pair]
                yield {
                    "condition": condition,
                    "study": study,
                    "effect": effect,
                    "ratio_of_all": round(_ratio_of_all(enough), 4),
                    "load_1min": round(statistics.median(loads), 1),
                    "processes": 1 if design in _ONE_PROCESS else count,
                    "design": name,
                    "pairs": len(enough),
                    "different": different,
                    "share": round(different / len(enough), 4),
                }


def _ratio_of_all(pairs: list[list[Row]]) -> float:
    """Of the settled times: the median over pairs of the ratio of each. The truth of what was
    planted."""
    return statistics.median(
        math.exp(statistics.fmean(math.log(_settled(row).ratio) for row in pair)) for pair in pairs
    )


def _settled(row: Row) -> Round:
    return Round(tuple(row["a"]), tuple(row["b"]), in_turns=True)


def in_turns(pair: Sequence[Row]) -> bool:
    """What `jaxmeter.compare` does: of planted pairs, in their settled time."""
    quantities = {"settled_seconds": [_settled(row) for row in pair]}
    if pair[0]["study"] == "aa":
        if any(row["exact"] for row in pair):
            return True
        quantities |= {phase: _phase(pair, number) for number, phase in enumerate(PHASES)}
    return any(one.verdict == "different" for one in compare_times(quantities, RULE))


def _phase(pair: Sequence[Row], number: int) -> list[Round]:
    return [
        Round(*(tuple(one[number] for one in side) for side in row["compiles"]), in_turns=True)
        for row in pair
        if row["compiles"][0]
    ]


def settled_in_turns(pair: Sequence[Row]) -> bool:
    """The same, of the settled time alone."""
    (timing,) = compare_times({"settled_seconds": [_settled(row) for row in pair]}, RULE)
    return timing.verdict == "different"


def all_on_one_side(pair: Sequence[Row]) -> bool:
    """All ratios on one side of 1, and their median farther from it than the least effect."""
    logs = [math.log(_settled(row).ratio) for row in pair]
    same_side = all(one > 0 for one in logs) or all(one < 0 for one in logs)
    return same_side and abs(statistics.median(logs)) > math.log1p(RULE.minimum_effect)


def processes_apart(pair: Sequence[Row]) -> bool:
    """As if each process had held one function: the first of one against the second of the next."""
    following = [*pair[1:], pair[0]]
    rounds = [
        Round(tuple(one["a"]), tuple(other["b"]))
        for one, other in zip(pair, following, strict=True)
    ]
    (timing,) = compare_times({"settled_seconds": rounds}, RULE)
    return timing.verdict == "different"


def samples_of_two_processes(pair: Sequence[Row]) -> bool:
    """One process for each function, their samples by Mann and Whitney's test."""
    return mannwhitneyu(pair[0]["a"], pair[1]["b"]).pvalue < RULE.significance


def samples_of_one_process(pair: Sequence[Row]) -> bool:
    """One process with both in turns, their samples by the same test."""
    return mannwhitneyu(pair[0]["a"], pair[0]["b"]).pvalue < RULE.significance


def samples_by_far(pair: Sequence[Row]) -> bool:
    """The test of two processes' samples, and medians that differ by the least effect."""
    ratio = statistics.median(pair[1]["b"]) / statistics.median(pair[0]["a"])
    is_far = abs(math.log(ratio)) > math.log1p(RULE.minimum_effect)
    return is_far and samples_of_two_processes(pair)


DESIGNS: dict[str, Callable[[Sequence[Row]], bool]] = {
    "in turns": in_turns,
    "in turns, settled time alone": settled_in_turns,
    "in turns, all on one side": all_on_one_side,
    "processes apart": processes_apart,
    "samples of one process": samples_of_one_process,
    "samples of two processes": samples_of_two_processes,
    "samples of two processes, by 3 %": samples_by_far,
}
_ONE_PROCESS = {samples_of_one_process, samples_of_two_processes, samples_by_far}


def _round_line(condition: str, row: Row) -> list[Any]:
    phases = [_phase([row], number) for number in range(len(PHASES))]
    return [
        condition,
        *(row[name] for name in ("study", "form", "kind", "effect", "seed", "process")),
        f"{statistics.median(row['a']):.4g}",
        round(_settled(row).ratio, 4),
        f"{_settled(row).error or 0.0:.2g}",
        *(round(found[0].ratio, 4) if found else "" for found in phases),
        " ".join(row["exact"]),
        row["load_1min"] and round(row["load_1min"], 1),
        row["utc"],
    ]


if __name__ == "__main__":
    main()
