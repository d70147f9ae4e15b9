"""Two invented commits measured interleaved, for the tests of the review."""

import dataclasses
import math
import random

import pytest

from reports.review import Policy, make_review, read_pair
from tests.reports import made_up

BASE, HEAD = "b" * 40, "d" * 40
ROUNDS = 6
CLOSURE = "casing_variants/w7x-closure-d3"


class Pair:
    """A folder of two commits measured interleaved; `change` edits the records of HEAD."""

    def __init__(self, root):
        self.root, self.rng = root, random.Random(0)

    def write(
        self,
        change=lambda record: record,
        *,
        rounds=ROUNDS,
        days_apart=0,
        variants=("closure", "argument"),
        changed=("closure",),
        **environment,
    ):
        for side, commit in (("base", BASE), ("head", HEAD)):
            is_head = side == "head"
            day = 1 + (days_apart if is_head else 0)
            for i in range(rounds):
                started = f"2026-11-{day:02d}T10:{i:02d}:{30 * is_head:02d}+00:00"
                recorded = {"started_utc": started} | (environment if is_head else {})
                for variant in variants:
                    record = self.noisy(made_up.casing_case(variant, 3, 0))
                    record = made_up.in_environment(record, **recorded)
                    if is_head and variant in changed:
                        record = change(record)
                    made_up.write(self.root / side, record, i, commit=commit)
        return self.root

    def noisy(self, record):
        def noise():
            return math.exp(self.rng.gauss(0, 0.015))

        phases = dataclasses.asdict(record.phases)
        process = noise()
        return dataclasses.replace(
            record,
            samples_seconds=tuple(0.1 * process * noise() for _ in range(5)),
            phases=dataclasses.replace(record.phases, **{k: phases[k] * noise() for k in phases}),
        )


@pytest.fixture
def pair(tmp_path):
    return Pair(tmp_path / "pair")


def part(name, **values):
    """Return a function that changes values in one section of a record."""

    def change(record):
        section = dataclasses.replace(getattr(record, name), **values)
        return dataclasses.replace(record, **{name: section})

    return change


def slower(record, *, steady=1.0, compile_=1.0):
    phases = {k: v * compile_ for k, v in dataclasses.asdict(record.phases).items()}
    return dataclasses.replace(
        record,
        samples_seconds=tuple(steady * s for s in record.samples_seconds),
        phases=dataclasses.replace(record.phases, **phases),
    )


def reviewed(root, **policy):
    return make_review(read_pair(root), Policy(**policy))


def regressions(review):
    return {(f.case, f.metric.name) for f in review.findings if f.verdict == "regression"}
