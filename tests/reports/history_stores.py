"""A made-up store of twelve commits with a step, and one more commit that failed."""

import dataclasses
import math
import random

COMMITS = [f"{i:02d}{0:038d}" for i in range(1, 13)]
LAST = f"13{0:038d}"
STEP = 7  # the first commit of the new levels


def write_stepped(made_up, root):
    """Twelve commits; at the eighth one case captures 64 KB more and takes longer to settle."""
    for k, commit in enumerate(COMMITS):
        rng = random.Random(k)
        for i in range(3):
            for variant in ("closure", "argument"):
                stepped = variant == "closure" and k >= STEP
                case = made_up.casing_case(variant, 3, i)
                steady = (0.13 if stepped else 0.1) * math.exp(rng.gauss(0, 0.01))
                case = dataclasses.replace(
                    case,
                    samples_seconds=(steady,) * 3,
                    phases=dataclasses.replace(case.phases, compile_seconds=2 + rng.random() / 50),
                    constants=dataclasses.replace(
                        case.constants, captured_bytes=165_536 if stepped else 100_000
                    ),
                    environment=made_up.environment(started_utc=f"2026-11-{k + 1:02d}T10:0{i}:00Z"),
                )
                made_up.write(root, case, i, commit=commit)
    return root


def write_failed(made_up, root):
    """A thirteenth commit, at which one case fails and the other is not tried."""
    for i in range(2):
        case = made_up.failed(
            "casing_variants/w7x-closure-d3",
            {},
            kind="WrongAnswer",
            message="<b>off</b> by 2\nsecond line",
        )
        made_up.write(root, case, i, commit=LAST)
    return root
