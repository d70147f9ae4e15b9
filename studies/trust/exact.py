"""Inject changes that `jaxmeter compare` finds without measuring times (docs/trust.md).

The study injects each of four changes into a hundred pairs of functions, always into the second
function. The functions are of seven kinds. Two changes concern captured arrays: the second function
captures an array of 4096 bytes, or one value differs in an array that both functions capture. The
other two changes are a call that retraces and one more temporary buffer. For each changed pair the
study also measures an A/A pair, which is two equal functions. Rerun to resume.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

from jaxmeter import Case, Effort
from studies.harness import RESULTS, Row, in_worker, read_rows, table
from studies.trust.kinds import KINDS, plain
from studies.trust.measure import compared

EFFORT = Effort(turns=1, turn_seconds=1e-6, steady_seconds=1e-6, compiles=0)
PAIRS = 100
"""Number of pairs for each change."""
Made = tuple[Case, tuple[Any, ...]]
"""A case, and the arguments of additional calls of its function."""


def captured(kind: str, seed: int, injected: bool) -> Made:
    """Return a case that captures an array of 1024 numbers if `injected`, else no array."""
    return (_holding if injected else plain)(kind, seed), ()


def revalued(kind: str, seed: int, injected: bool) -> Made:
    """Return a case that captures an array; if `injected`, one number of the array is changed."""
    return _holding(kind, seed, 1.0 if injected else 0.0), ()


def _holding(kind: str, seed: int, added: float = 0.0) -> Case:
    """Return a case that captures 1024 numbers; `added` is added to one of the numbers."""
    case = plain(kind, seed)
    values = np.random.default_rng(seed).normal(size=1024).astype("float32")
    values[seed % 1024] += added
    held = jnp.asarray(values)

    def more(x: Any) -> Any:
        answer = case.fn(x)
        return jax.tree.map(lambda y: y + held[x.size % 1024] * held.sum(), answer)

    return Case(more, case.args)


def retraced(kind: str, seed: int, injected: bool) -> Made:
    """Return a case with the arguments of four more calls.

    If `injected`, one of the calls retraces: its argument has another shape or dtype, or is passed
    by keyword.
    """
    case = plain(kind, seed)
    (x,) = case.args
    smaller = x[tuple(slice(size // 2) for size in x.shape)]
    calls: list[Any] = [((x + n,), {}) for n in range(4)]
    others: list[Any] = [((smaller,), {}), ((), {"x": x}), ((x.astype("bfloat16"),), {})]
    if injected:
        calls[seed % 4] = others[seed % (2 if kind == "fft" else 3)]
    return case, tuple(calls)


def buffered(kind: str, seed: int, injected: bool) -> Made:
    """Return a case that sorts an array and, if `injected`, a second array of the same size.

    Each array is as large as the argument, or two or three times as large.
    """
    case = plain(kind, seed)
    times = 1 + seed % 3

    def function(x: Any) -> Any:
        wide = jnp.concatenate([x.ravel() + n for n in range(times)])
        extra = jnp.sort(wide)[0] + (jnp.sort(jnp.sin(wide))[-1] if injected else 0.0)
        return jax.tree.map(lambda y: y + extra, case.fn(x))

    return Case(function, case.args), ()


CHANGES: dict[str, tuple[Callable[[str, int, bool], Made], str]] = {
    "4096 bytes captured": (captured, "constants.captured_bytes"),
    "one captured value": (revalued, "constants.captured_fingerprint"),
    "one retrace": (retraced, "counts.traces_count"),
    "one temporary": (buffered, "memory.temp_bytes"),
}
"""For each change: the function that makes a case, and the quantity that shows the change."""
TITLES = {
    "4096 bytes captured": "an array of 4096 bytes captured",
    "one captured value": "another value of one number in a captured array",
    "one retrace": "a retrace in one of five calls (by shape, dtype or keyword)",
    "one temporary": "one more temporary buffer",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this study to its parser."""
    about = "file for the rows; default results/trust/exact.csv"
    parser.add_argument("--out", type=Path, default=RESULTS / "trust" / "exact.csv", help=about)


def run(options: argparse.Namespace) -> int:
    """Measure the pairs that the file OUT does not contain yet, and print the table."""
    done = {(row["change"], int(row["number"])) for row in read_rows(options.out)}
    wanted = itertools.product(CHANGES, range(PAIRS))
    missing = [one for one in wanted if one not in done]
    if missing:
        in_worker(rows, options.out, {"pairs": missing})
    print(found_table(options.out))
    return 0


def rows(pairs: list[tuple[str, int]]) -> Iterator[Row]:
    """Yield the rows of an A/A pair and of a changed pair for each of `pairs`.

    Each of `pairs` has the name of a change and an index that selects the kind of function.
    """
    for change, number in pairs:
        # Measure both pairs first, so that an interrupted run seldom writes only one of the rows.
        yield from [_row(change, number, injected) for injected in (False, True)]


def _row(change: str, number: int, injected: bool) -> Row:
    make, quantity = CHANGES[change]
    kind = list(KINDS)[number % len(KINDS)]
    made = [make(kind, number, False), make(kind, number, injected)]
    cases, calls = zip(*made, strict=True)
    _, found = compared(cases, EFFORT, calls=calls)
    differing = [name for name, one in found.items() if one.verdict != "same"]
    return {
        "change": change,
        "injected": injected,
        "kind": kind,
        "number": number,
        "before": str(found[quantity].a[0])[:12],
        "now": str(found[quantity].b[0])[:12],
        "found": quantity in differing,
        "differing_count": len(differing),
    }


def found_table(path: Path) -> str:
    """Return a table of how many changes were found, and how many A/A pairs differ."""
    rows = pd.read_csv(path).assign(differs=lambda row: row["differing_count"] > 0)
    lines = []
    for change, title in TITLES.items():
        sides = [
            rows.loc[(rows["change"] == change) & (rows["injected"] == injected), column]
            for injected, column in ((True, "found"), (False, "differs"))
        ]
        lines.append((title, *(f"{side.sum()} of {len(side)}" for side in sides)))
    return table(("injected", "found", "A/A pairs that differ"), lines)
