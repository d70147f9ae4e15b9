"""Keep of what `trust.py` measured what `trust_tables.py` judges.

``python trust_rounds.py quiet=quiet.jsonl loaded=loaded.jsonl --out measured`` writes into
``trust_rounds.csv.gz`` what each process found of each pair, and into ``trust_samples.csv`` how
often designs that `jaxmeter.compare` does not follow call two functions different: for these all
samples are needed, which are not kept. What is stored of other conditions stays.
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

from jaxmeter import PHASES, Criteria, Round, compare_times

PROCESSES = (3, 4, 6, 8)
RULE = Criteria()
Row = dict[str, Any]
PHASE_COLUMNS = tuple(phase.replace("_seconds", "_ratio") for phase in PHASES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="+", metavar="CONDITION=FILE")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rounds_file, samples_file = rounds_of(options.out), options.out / "samples.csv"
    rounds, samples = read(rounds_file), read(samples_file)
    for given in options.rows:
        condition, _, file = given.partition("=")
        rows = [json.loads(line) for line in Path(file).read_text().splitlines()]
        rounds = [row for row in rounds if row["condition"] != condition]
        rounds += [_round(condition, row) for row in rows]
        samples = [row for row in samples if row["condition"] != condition]
        samples += judged(condition, rows)
    write(rounds_file, rounds)
    write(samples_file, samples)


def rounds_of(folder: Path) -> Path:
    """The file of all rounds."""
    return folder / "rounds.csv.gz"


def read(file: Path) -> list[Row]:
    """The rows of a table, packed or not; none if there is no file."""
    if not file.exists():
        return []
    data = file.read_bytes()
    text = (gzip.decompress(data) if file.suffix == ".gz" else data).decode()
    return list(csv.DictReader(io.StringIO(text)))


def write(file: Path, rows: Sequence[Row]) -> None:
    """Write a table, packed or not by its name; the same rows give the same bytes."""
    text = io.StringIO()
    lines = csv.DictWriter(text, rows[0], lineterminator="\n")
    lines.writeheader()
    lines.writerows(rows)
    data = text.getvalue().encode()
    file.write_bytes(gzip.compress(data, mtime=0) if file.suffix == ".gz" else data)


def judged(condition: str, rows: Sequence[Row]) -> Iterator[Row]:
    """A line for each study, effect, number of processes and design."""
    pairs: dict[str, dict[int, Row]] = defaultdict(dict)
    for row in rows:
        pairs[row["key"]][row["process"]] = row
    groups: dict[tuple[str, float], list[list[Row]]] = defaultdict(list)
    for processes in pairs.values():
        inside = [processes[number] for number in sorted(processes)]
        groups[inside[0]["study"], inside[0]["effect"]].append(inside)
    for (study, effect), found in sorted(groups.items()):
        for name, design in DESIGNS.items():
            is_single = design in _ONE_PROCESS
            for count in PROCESSES[:1] if is_single else PROCESSES:
                enough = [pair[:count] for pair in found if len(pair) >= count]
                if enough:
                    yield {
                        "condition": condition,
                        "study": study,
                        "effect": effect,
                        "processes": 1 if is_single else count,
                        "design": name,
                        "pairs": len(enough),
                        "different": sum(design(pair) for pair in enough),
                    }


def processes_apart(pair: Sequence[Row]) -> bool:
    """As if each process had held one function: the first of one against the second of the next."""
    following = [*pair[1:], pair[0]]
    rounds = [
        Round.from_samples(one["a"], other["b"]) for one, other in zip(pair, following, strict=True)
    ]
    (timing,) = compare_times({"steady_seconds": rounds}, RULE)
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
    "processes apart": processes_apart,
    "samples of one process": samples_of_one_process,
    "samples of two processes": samples_of_two_processes,
    "samples of two processes, by 3 %": samples_by_far,
}
_ONE_PROCESS = {samples_of_one_process, samples_of_two_processes, samples_by_far}


def _round(condition: str, row: Row) -> Row:
    steady = Round.from_samples(row["a"], row["b"], interleaved=True)
    phases = {
        column: round(ratio, 4)
        for column, ratio in zip(PHASE_COLUMNS, _phase_ratios(row), strict=False)
    }
    return {
        "condition": condition,
        **{name: row[name] for name in ("study", "form", "kind", "effect", "seed", "process")},
        "compiles": len(row["compiles"][0]),
        "a_seconds": f"{statistics.median(row['a']):.4g}",
        "steady_ratio": round(steady.ratio, 4),
        "steady_error": f"{steady.error or 0.0:.2g}",
        **{column: phases.get(column, "") for column in PHASE_COLUMNS},
        "exact": " ".join(row["exact"]),
        "load_1min": row["load_1min"] and round(row["load_1min"], 1),
        "utc": row["utc"],
    }


def _phase_ratios(row: Row) -> Iterator[float]:
    """Of each phase in turn; none if nothing was compiled again."""
    a, b = row["compiles"]
    if a:
        for one, other in zip(zip(*a, strict=True), zip(*b, strict=True), strict=True):
            yield Round.from_samples(one, other, interleaved=True).ratio


if __name__ == "__main__":
    main()
