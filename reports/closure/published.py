"""The published table: a coronagraph simulator of 256 pixels on a single GPU, n = 20 runs."""

import pandas as pd

SIZE = 256
# First call with its compile, steady median and std in seconds; captured bytes.
ROWS = {
    "closure": (43.7, 22.7e-3, 6.2e-3, 4.46e9),
    "argument": (5.6, 22.9e-3, 0.3e-3, 0.0),
}


def table() -> pd.DataFrame:
    """Return a row for each published variant, its columns named as those of `variants`."""
    found = []
    for variant, (*times, captured) in ROWS.items():
        row = {"source": "published, one GPU", "size": SIZE, "variant": variant}
        for stem, seconds in zip(("ready", "steady", "naive_std"), times, strict=True):
            row |= {f"{stem}_{end}_seconds": seconds for end in ("median", "low", "high")}
        found.append(row | {"captured_bytes": captured})
    return pd.DataFrame(found)


def seconds_per_megabyte() -> float:
    """Return the published cost of closing over a megabyte: the difference of the two rows."""
    closure, argument = ROWS.values()
    return (closure[0] - argument[0]) / ((closure[3] - argument[3]) / 1e6)
