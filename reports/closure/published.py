"""The published table: a coronagraph simulator of 256 pixels on a single GPU, n = 20 runs."""

import math

import pandas as pd

SIZE = 256
RUNS_COUNT = 20
# Variant, first call with its compile and steady median in seconds, std in seconds, captured bytes.
_ROWS = (
    ("closure", 43.7, 22.7e-3, 6.2e-3, 4.46e9),
    ("argument", 5.6, 22.9e-3, 0.3e-3, 0.0),
)


def table() -> pd.DataFrame:
    """One row for each published variant, its columns named as the study's own."""
    rows = [
        {
            "source": "published, one GPU",
            "size": SIZE,
            "variant": variant,
            "ready_median_seconds": ready,
            "steady_median_seconds": steady,
            "naive_std_median_seconds": std,
            "steady_std_median_seconds": math.nan,
            "captured_bytes": captured,
        }
        for variant, ready, steady, std, captured in _ROWS
    ]
    table = pd.DataFrame(rows)
    for name in [name for name in table.columns if name.endswith("_median_seconds")]:
        for end in ("low", "high"):
            table[name.replace("median", end)] = table[name]
    return table


def seconds_per_megabyte() -> float:
    """What closing over a megabyte cost there, by the difference of the two rows."""
    closure, argument = _ROWS
    return (closure[1] - argument[1]) / ((closure[4] - argument[4]) / 1e6)
