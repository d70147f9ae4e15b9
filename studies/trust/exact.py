"""Does the comparison see every change that is free of noise?

``python trust_exact.py --out measured/trust_exact.csv`` plants one change in each of a hundred
pairs of functions, of seven kinds and several sizes: an array of 4096 bytes captured, another value
in an array that both capture, a call that is traced again, a temporary buffer more. Beside each
stands an equal pair. All are compared with the code of `jaxmeter.compare`, in this process, since
no time is.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxmeter import Case, Effort, compare_processes, measure_pair
from studies.trust import kinds

PAIRS = 100
EFFORT = Effort(turns=1, turn_seconds=1e-6, steady_seconds=1e-6, compiles=0)
Made = tuple[Case, tuple[Any, ...]]


def captured(kind: str, seed: int, planted: bool) -> Made:
    """An array of 1024 float32 captured, and added to a number of the answer."""
    case = kinds.plain(kind, seed)
    held = jnp.asarray(np.random.default_rng(seed).normal(size=1024).astype("float32"))

    def more(x: Any) -> Any:
        answer = case.fn(x)
        return jax.tree.map(lambda y: y + held[x.size % 1024] * held.sum(), answer)

    return (Case(more, case.args) if planted else case), ()


def revalued(kind: str, seed: int, planted: bool) -> Made:
    """An array of 1024 float32 captured by both, of other values in one number."""
    case = kinds.plain(kind, seed)
    values = np.random.default_rng(seed).normal(size=1024).astype("float32")
    values[seed % 1024] += 1.0 if planted else 0.0
    held = jnp.asarray(values)

    def more(x: Any) -> Any:
        answer = case.fn(x)
        return jax.tree.map(lambda y: y + held[x.size % 1024] * held.sum(), answer)

    return Case(more, case.args), ()


def retraced(kind: str, seed: int, planted: bool) -> Made:
    """Four more calls, one of which is of another shape or dtype, or by keyword."""
    case = kinds.plain(kind, seed)
    (x,) = case.args
    smaller = x[tuple(slice(size // 2) for size in x.shape)]
    calls: list[Any] = [((x + n,), {}) for n in range(4)]
    others: list[Any] = [((smaller,), {}), ((), {"x": x}), ((x.astype("bfloat16"),), {})]
    if planted:
        calls[seed % 4] = others[seed % (2 if kind == "fft" else 3)]
    return case, tuple(calls)


def buffered(kind: str, seed: int, planted: bool) -> Made:
    """A sorted copy more, of an array that is as large as the argument or a multiple."""
    case = kinds.plain(kind, seed)
    times = 1 + seed % 3

    def function(x: Any) -> Any:
        wide = jnp.concatenate([x.ravel() + n for n in range(times)])
        extra = jnp.sort(wide)[0] + (jnp.sort(jnp.sin(wide))[-1] if planted else 0.0)
        return jax.tree.map(lambda y: y + extra, case.fn(x))

    return Case(function, case.args), ()


PLANTED: dict[str, tuple[Callable[[str, int, bool], Made], str]] = {
    "4096 bytes captured": (captured, "constants.captured_bytes"),
    "one captured value": (revalued, "constants.captured_fingerprint"),
    "one retrace": (retraced, "counts.traces_count"),
    "one temporary": (buffered, "memory.temp_bytes"),
}


def studied() -> Iterator[dict[str, Any]]:
    """A line for each pair."""
    names = list(kinds.KINDS)
    for change, (make, quantity) in PLANTED.items():
        for number in range(PAIRS):
            kind = names[number % len(names)]
            for planted in (False, True):
                both = [make(kind, number, False), make(kind, number, planted)]
                found = {one.quantity: one for one in _compared(both)}
                differing = [name for name, one in found.items() if one.verdict != "same"]
                yield {
                    "change": change,
                    "planted": planted,
                    "kind": kind,
                    "number": number,
                    "before": str(found[quantity].a[0])[:12],
                    "now": str(found[quantity].b[0])[:12],
                    "found": quantity in differing,
                    "differing_count": len(differing),
                }


def _compared(both: list[Made]) -> Any:
    (a, a_calls), (b, b_calls) = both
    process = measure_pair(a, b, EFFORT, swapped=False, calls=(a_calls, b_calls))
    jax.clear_caches()
    return compare_processes([process]).exact


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    counted: dict[tuple[str, bool], int] = {}
    with options.out.open("w", newline="") as file:
        lines: csv.DictWriter[str] | None = None
        for row in studied():
            lines = lines or csv.DictWriter(file, row, lineterminator="\n")
            if file.tell() == 0:
                lines.writeheader()
            lines.writerow(row)
            file.flush()
            counted.setdefault((row["change"], row["planted"]), 0)
            # Of an equal pair anything that is told would be wrong.
            wrong_or_right = row["found"] if row["planted"] else row["differing_count"] > 0
            counted[row["change"], row["planted"]] += wrong_or_right
    for (change, planted), count in counted.items():
        print(f"{change}: {count} of {PAIRS} {'found' if planted else 'of equal pairs differ'}")


if __name__ == "__main__":
    main()
