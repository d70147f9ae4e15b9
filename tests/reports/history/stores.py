"""A made-up store of twelve commits with a change point, and a thirteenth commit that failed."""

import math
import random

import pytest

from reports import read_store
from reports.history import make_history
from tests.reports import made_up

COMMITS = [f"{i:02d}{0:038d}" for i in range(1, 13)]
LAST = f"13{0:038d}"
STEP = 7  # the index of the first commit with the new levels


def write_stepped(root):
    """Write twelve commits, and return the store.

    From the eighth commit on, one case captures 65,536 bytes more and its calls take 30 % longer.
    """
    for k, commit in enumerate(COMMITS):
        rng = random.Random(k)
        for i in range(3):
            for variant in ("closure", "argument"):
                stepped = variant == "closure" and k >= STEP
                case = made_up.casing_case(
                    variant,
                    3,
                    steady_seconds=(0.13 if stepped else 0.1) * math.exp(rng.gauss(0, 0.01)),
                    compile_seconds=2 + rng.random() / 50,
                    captured_bytes=165_536 if stepped else 100_000,
                )
                case = made_up.in_environment(case, started_utc=f"2026-11-{k + 1:02d}T10:0{i}:00Z")
                made_up.write(root, case, i, commit=commit)
    return root


@pytest.fixture(scope="session")
def stepped_store(tmp_path_factory):
    return write_stepped(tmp_path_factory.mktemp("stepped") / "cases")


@pytest.fixture(scope="session")
def failed_history(tmp_path_factory):
    """Return the history of all thirteen commits.

    One case fails at the thirteenth commit, and the other is not measured there.
    """
    root = write_stepped(tmp_path_factory.mktemp("failed") / "cases")
    reason = {"kind": "WrongAnswer", "message": "<b>off</b> by 2\nsecond line"}
    for i in range(2):
        case = made_up.failed("casing_variants/w7x-closure-d3", {}, **reason)
        made_up.write(root, case, i, commit=LAST)
    return make_history(read_store(root))
