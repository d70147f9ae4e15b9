"""Two made-up commits measured in turns, for the tests of the review."""

import dataclasses
import math
import random

from reports.review import Judging, make_review, sides_of_pair

BASE, HEAD = "b" * 40, "d" * 40
ROUNDS = 6
CLOSURE = "casing_variants/w7x-closure-d3"


class Pair:
    """A folder of two commits measured in turns; `change` maps cases at HEAD to edits of them."""

    def __init__(self, made_up, root, *, seed=0):
        self.made_up, self.root, self.rng = made_up, root, random.Random(seed)

    def write(
        self,
        change=lambda record: record,
        *,
        rounds=ROUNDS,
        apart=0,
        variants=("closure", "argument"),
        changed=("closure",),
        **environment,
    ):
        for side, commit in (("base", BASE), ("head", HEAD)):
            for i in range(rounds):
                for variant in variants:
                    day = 1 + (apart if side == "head" else 0)
                    record = self.noisy(self.made_up.casing_case(variant, 3, 0))
                    started = f"2026-11-{day:02d}T10:{i:02d}:{30 * (side == 'head'):02d}+00:00"
                    told = {"started_utc": started} | (environment if side == "head" else {})
                    record = dataclasses.replace(
                        record, environment=self.made_up.environment(**told)
                    )
                    if side == "head" and variant in changed:
                        record = change(record)
                    self.made_up.write(self.root / side, record, i, commit=commit)
        return self.root

    def noisy(self, record):
        def noise():
            return math.exp(self.rng.gauss(0, 0.015))

        phases = dataclasses.asdict(record.phases)
        mood = noise()
        return dataclasses.replace(
            record,
            samples_seconds=tuple(0.1 * mood * noise() for _ in range(5)),
            phases=dataclasses.replace(record.phases, **{k: phases[k] * noise() for k in phases}),
        )


def part(name, **values):
    def change(record):
        return dataclasses.replace(
            record, **{name: dataclasses.replace(getattr(record, name), **values)}
        )

    return change


def slower(record, *, steady=1.0, compile_=1.0):
    phases = dataclasses.replace(
        record.phases, **{k: v * compile_ for k, v in dataclasses.asdict(record.phases).items()}
    )
    samples = tuple(steady * s for s in record.samples_seconds)
    return dataclasses.replace(record, samples_seconds=samples, phases=phases)


def reviewed(root, **judging):
    return make_review(sides_of_pair(root), Judging(**judging))


def worse(review):
    return {(f.case, f.metric.name) for f in review.findings if f.verdict == "worse"}
