"""The rows of the tile size study, from its records."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jaxmeter import Record

WITHIN = 0.03
"""Sizes within this share of the fastest count as equally fast; the least memory decides."""

Pair = tuple[int, int]


Row = dict[str, Any]
COLUMNS = {
    "operator": "`B`, `BOFF` (off the surface), `GRADB`: as in VCJAX_CHUNK_*",
    "chunk_size": "sources of a tile",
    "target_chunk_size": "targets of a tile",
    "is_auto": 'whether "auto" means this size here',
    "processes_count": "processes measured",
    "seconds": "median over processes of the median call, seconds",
    "ratio_to_auto": 'median over processes of the time over that of "auto" in the same process',
    "ratio_to_best": "ratio_to_auto over the least of the operator",
    "least_ratio": "the least ratio_to_auto of a process",
    "largest_ratio": "the largest ratio_to_auto of a process",
    "flops_per_byte": "arithmetic intensity, flops over accessed_bytes",
    "is_recommended": "least temporaries among the sizes within 3 % of the fastest",
    "temp_bytes": "temporaries of the program, by the compiler, bytes",
    "largest_temp_bytes": "the largest temporary, bytes",
    "run_peak_bytes": "peak of the process above its memory before the call, bytes",
    "flops": "by XLA, which counts a loop's body once: of about one tile",
    "accessed_bytes": "bytes read and written, by XLA, of about one tile",
    "instructions_count": "instructions of the optimised program",
    "fusions_count": "fusions of the optimised program",
    "far_fraction": "share of far_field or far_gradient in the self time of a trace",
    "kernels_count": "kernels launched in that trace; 0 on a CPU",
    "error_relative": "error over the largest total field; for BOFF the estimate",
}
"""The columns of `size_rows`."""
ADVICE_COLUMNS = {
    "operator": "`B`, `BOFF`, `GRADB`",
    "chunk_size": "sources of a tile to set",
    "target_chunk_size": "targets of a tile to set",
    "ratio_to_best": "its time over that of the fastest size",
    "held_out_ratio_to_best": "the same when every other process chooses and the rest judge",
    "auto_ratio_to_best": 'time of "auto" over that of the fastest size',
    "temp_bytes": "temporaries, bytes",
    "auto_temp_bytes": 'temporaries of "auto", bytes',
}
"""The columns of `advice_rows`."""


def size_rows(records: Mapping[str, Sequence[Record]]) -> list[Row]:
    """Return a row for each operator and tile size; failed processes are left out."""
    return [row for operator, good in _good(records) for row in _sizes(operator, good)]


def advice_rows(records: Mapping[str, Sequence[Record]]) -> list[Row]:
    """Return a row for each operator: the size to set."""
    return [_advice(_sizes(operator, good), good) for operator, good in _good(records)]


def _good(records: Mapping[str, Sequence[Record]]) -> Iterator[tuple[str, list[Record]]]:
    for operator, every in records.items():
        good = [record for record in every if record.status == "ok"]
        if good:
            yield operator, good


def _numbers(record: Record) -> tuple[Pair, dict[Pair, dict[str, float]]]:
    """Return the size of "auto", and all numbers by tile size."""
    found: dict[Pair, dict[str, float]] = defaultdict(dict)
    for name, value in record.extras.items():
        sizes, _, what = name.partition(":")
        if sizes != "auto":
            sources, targets = map(int, sizes.split(","))
            found[sources, targets][what] = value
    auto = int(record.extras["auto:chunk_size"]), int(record.extras["auto:target_chunk_size"])
    return auto, dict(found)


def _ratios(records: Sequence[Record]) -> dict[Pair, list[float]]:
    """Return the ratios to "auto", one for each process."""
    found: dict[Pair, list[float]] = defaultdict(list)
    for record in records:
        auto, numbers = _numbers(record)
        usual = _median(numbers[auto])
        for pair, of_size in numbers.items():
            found[pair].append(_median(of_size) / usual)
    return dict(found)


def _median(numbers: Mapping[str, float]) -> float:
    return statistics.median(v for name, v in numbers.items() if name.startswith("seconds"))


def chosen(ratios: Mapping[Pair, float], temp_bytes: Mapping[Pair, float]) -> Pair:
    """Return the size with the least temporaries among those within 3 % of the fastest."""
    least = min(ratios.values())
    good = [pair for pair, ratio in ratios.items() if ratio <= least * (1 + WITHIN)]
    return min(good, key=lambda pair: (temp_bytes.get(pair, 0.0), ratios[pair]))


def _sizes(operator: str, records: Sequence[Record]) -> list[Row]:
    ratios = _ratios(records)
    middle = {pair: statistics.median(values) for pair, values in ratios.items()}
    auto, first = _numbers(records[0])
    best = min(middle.values())
    temporaries = {pair: numbers.get("temp_bytes", 0.0) for pair, numbers in first.items()}
    recommended = chosen(middle, temporaries)
    rows = []
    for pair, numbers in first.items():
        seconds = [_median(_numbers(record)[1][pair]) for record in records]
        exact = {n: v for n, v in numbers.items() if not n.startswith("seconds")}
        flops, accessed = exact.get("flops"), exact.get("accessed_bytes")
        rows.append(
            {
                "operator": operator,
                "chunk_size": pair[0],
                "target_chunk_size": pair[1],
                "is_auto": pair == auto,
                "processes_count": len(records),
                "seconds": statistics.median(seconds),
                "ratio_to_auto": middle[pair],
                "ratio_to_best": middle[pair] / best,
                "least_ratio": min(ratios[pair]),
                "largest_ratio": max(ratios[pair]),
                "flops_per_byte": flops / accessed if flops and accessed else None,
                "is_recommended": pair == recommended,
                **exact,
            }
        )
    return sorted(rows, key=lambda row: row["ratio_to_auto"])


def _advice(rows: list[Row], records: Sequence[Record]) -> Row:
    best = next(row for row in rows if row["is_recommended"])
    auto = next(row for row in rows if row["is_auto"])
    return {
        "operator": best["operator"],
        "chunk_size": best["chunk_size"],
        "target_chunk_size": best["target_chunk_size"],
        "ratio_to_best": best["ratio_to_best"],
        "held_out_ratio_to_best": _held_out(rows, records),
        "auto_ratio_to_best": auto["ratio_to_best"],
        "temp_bytes": best.get("temp_bytes"),
        "auto_temp_bytes": auto.get("temp_bytes"),
    }


def _held_out(rows: list[Row], records: Sequence[Record]) -> float | None:
    """Let every other process choose, and return the ratio of its choice in the rest."""
    if len(records) < 2:
        return None
    temporaries = {
        (row["chunk_size"], row["target_chunk_size"]): row.get("temp_bytes", 0.0) for row in rows
    }
    sides = []
    for half in (records[::2], records[1::2]):
        sides.append({pair: statistics.median(v) for pair, v in _ratios(half).items()})
    pair = chosen(sides[0], temporaries)
    return sides[1][pair] / min(sides[1].values())
