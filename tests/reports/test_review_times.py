"""Times of a review: how much each round counts."""

import dataclasses
import itertools
import json
import math
import statistics
from functools import partial

import pytest

from reports.review import review_markdown
from reports.review.data import review_json
from tests.reports.review_pairs import CLOSURE, ROUNDS, Pair, reviewed, slower, worse

DISTURBED = 2
BOTH = ("closure", "argument")
VARIANTS = (*BOTH, "hoisted", "simplified")
TOGETHER = "4 timed cases together"


@pytest.mark.parametrize(("scatter", "is_found"), [(1.0, False), (20.0, True)])
def test_a_disturbed_round_counts_for_less_where_its_own_calls_scatter(
    made_up, tmp_path, scatter, is_found
):
    rounds = iter(range(ROUNDS))

    def change(record):
        disturbed = next(rounds) == DISTURBED
        middle = statistics.median(record.samples_seconds)
        spread = scatter if disturbed else 1.0
        samples = tuple(middle + spread * (s - middle) for s in record.samples_seconds)
        record = dataclasses.replace(record, samples_seconds=samples)
        return slower(record, steady=2.2 if disturbed else 1.2)

    review = reviewed(Pair(made_up, tmp_path).write(change))
    assert ((CLOSURE, "steady_median_seconds") in worse(review)) == is_found


@pytest.mark.parametrize("factor", [1.0, 1.16])
def test_what_each_cell_tells_too_faintly_all_may_tell_together(made_up, tmp_path, factor):
    """Eight rounds of a case hide in their noise what the 32 of all four cases show."""
    calls = itertools.count()

    def change(record):
        i = next(calls)  # the cases of a round follow each other
        return slower(record, compile_=factor * math.exp(0.12 * (-1) ** (i + i // len(VARIANTS))))

    pair = Pair(made_up, tmp_path).write(change, rounds=8, variants=VARIANTS, changed=VARIANTS)
    review = reviewed(pair, gate_times=True)
    found = {case for case, metric in worse(review) if metric == "build_seconds"}
    assert found == ({TOGETHER} if factor > 1 else set())
    assert review.compared_count == len(VARIANTS) and len(review.tested) == 2 * 4 + 2
    told = [f for f in json.loads(review_json(review))["findings"] if f["case"] == TOGETHER]
    assert [(f["metric"], f["cause"]) for f in told] == (
        [("build_seconds", "unexplained")] if factor > 1 else []
    )
    assert review.exit_code == (factor > 1) and TOGETHER in review_markdown(review)


def test_where_one_cell_shows_it_alone_all_together_are_not_told(made_up, tmp_path):
    change = partial(slower, compile_=1.5)
    review = reviewed(Pair(made_up, tmp_path).write(change, changed=BOTH))
    found = {case for case, metric in worse(review) if metric == "build_seconds"}
    assert found == {f"casing_variants/w7x-{variant}-d3" for variant in BOTH}


@pytest.mark.parametrize("speed", [1.0, 0.5])
def test_building_is_judged_by_the_least_of_as_many_builds_as_all_processes_made(
    made_up, tmp_path, speed
):
    """Where a process of HEAD made but two builds, nobody's third counts."""

    class Rebuilt(Pair):
        def noisy(self, record):
            first, *again = (super(Rebuilt, self).noisy(record) for _ in range(3))
            rebuilds = (
                slower(one, compile_=c).phases for one, c in zip(again, (0.8, 0.7), strict=True)
            )
            return dataclasses.replace(first, recompiles=tuple(rebuilds))

    rounds = iter(range(ROUNDS))

    def change(record):
        second, third = record.recompiles
        third = slower(dataclasses.replace(record, phases=third), compile_=speed).phases
        again = (second,) if next(rounds) == 0 else (second, third)
        return dataclasses.replace(record, recompiles=again)

    review = reviewed(Rebuilt(made_up, tmp_path).write(change))
    assert "build_seconds" not in {metric for _, metric in worse(review)}
    (told,) = (f for f in review.tested if (f.case, f.metric.name) == (CLOSURE, "build_seconds"))
    phases = made_up.casing_case("closure", 3, 0).phases
    first = phases.trace_seconds + phases.lower_seconds + phases.compile_seconds
    assert told.base == pytest.approx(0.8 * first, rel=0.03)
    assert told.head == pytest.approx(told.base, rel=0.03)
