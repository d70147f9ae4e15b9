"""The rows of the tile size study, from its processes."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence

from studies.harness import Row

WITHIN = 0.03
"""Sizes within this share of the fastest count as equally fast; the least memory decides."""

Pair = tuple[int, int]


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


def size_rows(processes: Sequence[Row]) -> list[Row]:
    """Return a row for each operator and tile size, from a row for each process."""
    return [row for some in _by_operator(processes) for row in _sizes(some)]


def advice_rows(processes: Sequence[Row]) -> list[Row]:
    """Return a row for each operator: the size to set."""
    return [_advice(_sizes(some), some) for some in _by_operator(processes)]


def _by_operator(processes: Sequence[Row]) -> Iterator[list[Row]]:
    for operator in dict.fromkeys(row["operator"] for row in processes):
        yield [row for row in processes if row["operator"] == operator]


def _seconds(process: Row) -> dict[Pair, float]:
    return {_pair(size): statistics.median(size["seconds"]) for size in process["found"]}


def _pair(size: Row) -> Pair:
    return size["chunk_size"], size["target_chunk_size"]


def _ratios(processes: Sequence[Row]) -> dict[Pair, list[float]]:
    """Return the ratios to "auto", one for each process."""
    seconds = [_seconds(process) for process in processes]
    auto = tuple(processes[0]["auto"])
    return {pair: [one[pair] / one[auto] for one in seconds] for pair in seconds[0]}


def _chosen(ratios: Mapping[Pair, Sequence[float]], temp_bytes: Mapping[Pair, float]) -> Pair:
    """Return the size with the least temporaries among those within 3 % of the fastest."""
    middle = {pair: statistics.median(values) for pair, values in ratios.items()}
    good = [pair for pair, ratio in middle.items() if ratio <= min(middle.values()) * (1 + WITHIN)]
    return min(good, key=lambda pair: (temp_bytes[pair], middle[pair]))


def _sizes(processes: Sequence[Row]) -> list[Row]:
    ratios = _ratios(processes)
    best = min(map(statistics.median, ratios.values()))
    first = processes[0]
    recommended = _chosen(ratios, _temporaries(first["found"]))
    rows = []
    for size in first["found"]:
        pair = _pair(size)
        ratio = statistics.median(ratios[pair])
        flops, accessed = size.get("flops"), size.get("accessed_bytes")
        rows.append(
            size
            | {
                "operator": first["operator"],
                "is_auto": pair == tuple(first["auto"]),
                "processes_count": len(processes),
                "seconds": statistics.median(_seconds(process)[pair] for process in processes),
                "ratio_to_auto": ratio,
                "ratio_to_best": ratio / best,
                "least_ratio": min(ratios[pair]),
                "largest_ratio": max(ratios[pair]),
                "flops_per_byte": flops / accessed if flops and accessed else None,
                "is_recommended": pair == recommended,
            }
        )
    return sorted(rows, key=lambda row: row["ratio_to_auto"])


def _temporaries(sizes: Sequence[Row]) -> dict[Pair, float]:
    return {_pair(size): size.get("temp_bytes", 0.0) for size in sizes}


def _advice(rows: list[Row], processes: Sequence[Row]) -> Row:
    best = next(row for row in rows if row["is_recommended"])
    auto = next(row for row in rows if row["is_auto"])
    names = ("operator", "chunk_size", "target_chunk_size", "ratio_to_best", "temp_bytes")
    return {
        **{name: best.get(name) for name in names},
        "held_out_ratio_to_best": _held_out(rows, processes),
        "auto_ratio_to_best": auto["ratio_to_best"],
        "auto_temp_bytes": auto.get("temp_bytes"),
    }


def _held_out(rows: list[Row], processes: Sequence[Row]) -> float | None:
    """Let every other process choose, and return the ratio of its choice in the rest."""
    if len(processes) < 2:
        return None
    pair = _chosen(_ratios(processes[::2]), _temporaries(rows))
    judged = {size: statistics.median(v) for size, v in _ratios(processes[1::2]).items()}
    return judged[pair] / min(judged.values())
