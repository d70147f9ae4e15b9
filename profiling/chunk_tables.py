"""From the records of chunk_study.py to its tables and the variables to set."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from jaxmeter import Record
from jaxmeter.tables import frame

WITHIN = 0.03
"""Of sizes that are as fast as the fastest but for this, that with the least memory is chosen."""

Pair = tuple[int, int]


def tables(records: Mapping[str, Sequence[Record]]) -> dict[str, pd.DataFrame]:
    """Both tables, from each operator's records; what failed is left out."""
    rows, advice = [], []
    for operator, every in records.items():
        good = [record for record in every if record.status == "ok"]
        if good:
            found = _operator(operator, good)
            rows += found
            advice.append(_advice(operator, found, good))
    return {
        "chunk_study": frame("chunk_study", rows),
        "chunk_recommendations": frame("chunk_recommendations", advice),
    }


def _numbers(record: Record) -> tuple[Pair, dict[Pair, dict[str, float]]]:
    """What "auto" is, and all numbers by tile size."""
    found: dict[Pair, dict[str, float]] = defaultdict(dict)
    for name, value in record.extras.items():
        sizes, _, what = name.partition(":")
        if sizes != "auto":
            sources, targets = map(int, sizes.split(","))
            found[sources, targets][what] = value
    auto = int(record.extras["auto:chunk_size"]), int(record.extras["auto:target_chunk_size"])
    return auto, dict(found)


def _ratios(records: Sequence[Record]) -> dict[Pair, list[float]]:
    """Time over that of "auto" in the same process, for each of them."""
    found: dict[Pair, list[float]] = defaultdict(list)
    for record in records:
        auto, numbers = _numbers(record)
        usual = _median(numbers[auto])
        for pair, told in numbers.items():
            found[pair].append(_median(told) / usual)
    return dict(found)


def _median(told: Mapping[str, float]) -> float:
    return statistics.median(v for name, v in told.items() if name.startswith("seconds"))


def chosen(ratios: Mapping[Pair, float], temp_bytes: Mapping[Pair, float]) -> Pair:
    """Of the sizes within 3 % of the fastest the one with the least temporaries."""
    least = min(ratios.values())
    good = [pair for pair, ratio in ratios.items() if ratio <= least * (1 + WITHIN)]
    return min(good, key=lambda pair: (temp_bytes.get(pair, 0.0), ratios[pair]))


def _operator(operator: str, records: Sequence[Record]) -> list[dict[str, Any]]:
    ratios = _ratios(records)
    middle = {pair: statistics.median(values) for pair, values in ratios.items()}
    auto, first = _numbers(records[0])
    best = min(middle.values())
    temporaries = {pair: told.get("temp_bytes", 0.0) for pair, told in first.items()}
    recommended = chosen(middle, temporaries)
    rows = []
    for pair, told in first.items():
        seconds = [_median(_numbers(record)[1][pair]) for record in records]
        exact = {n: v for n, v in told.items() if not n.startswith("seconds")}
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


def _advice(operator: str, rows: list[dict[str, Any]], records: Sequence[Record]) -> dict[str, Any]:
    best = next(row for row in rows if row["is_recommended"])
    auto = next(row for row in rows if row["is_auto"])
    return {
        "operator": operator,
        "chunk_size": best["chunk_size"],
        "target_chunk_size": best["target_chunk_size"],
        "ratio_to_best": best["ratio_to_best"],
        "held_out_ratio_to_best": _held_out(rows, records),
        "auto_ratio_to_best": auto["ratio_to_best"],
        "temp_bytes": best.get("temp_bytes"),
        "auto_temp_bytes": auto.get("temp_bytes"),
    }


def _held_out(rows: list[dict[str, Any]], records: Sequence[Record]) -> float | None:
    """Chosen by every other process, judged by the rest: what the choice is worth again."""
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


def environment(found: Mapping[str, pd.DataFrame]) -> str:
    """The variables to set, as a text that a shell reads."""
    lines = ["# Tile sizes of vcjax that chunk_study.py found best on this machine."]
    for row in found["chunk_recommendations"].to_dict("records"):
        name = f"VCJAX_CHUNK_{row['operator']}"
        lines.append(f"export {name}_SRC={row['chunk_size']}")
        lines.append(f"export {name}_TRG={row['target_chunk_size']}")
    return "\n".join(lines) + "\n"
