"""Times in a review: the weight of each round, pooled cases, compile times."""

import dataclasses
import itertools
import json
import math
import statistics
from functools import partial

import pytest

from reports.review import make_review, read_pair, review_markdown
from reports.review.findings import rounds_of
from reports.review.output import review_json
from tests.reports import made_up
from tests.reports.review.pairs import CLOSURE, ROUNDS, Pair, regressions, reviewed, slower

DISTURBED = 2
BOTH = ("closure", "argument")
VARIANTS = (*BOTH, "hoisted", "simplified")
COMPILE = "trace_lower_compile_seconds"
POOLED = "4 timed cases pooled"


@pytest.mark.parametrize(("scatter", "is_found"), [(1.0, False), (20.0, True)])
def test_a_disturbed_round_counts_for_less_if_its_own_calls_scatter(pair, scatter, is_found):
    rounds = iter(range(ROUNDS))

    def change(record):
        disturbed = next(rounds) == DISTURBED
        middle = statistics.median(record.samples_seconds)
        spread = scatter if disturbed else 1.0
        samples = tuple(middle + spread * (s - middle) for s in record.samples_seconds)
        record = dataclasses.replace(record, samples_seconds=samples)
        return slower(record, steady=2.2 if disturbed else 1.2)

    review = reviewed(pair.write(change))
    assert ((CLOSURE, "steady_median_seconds") in regressions(review)) == is_found


@pytest.mark.parametrize("factor", [1.0, 1.16])
def test_pooled_cases_show_a_change_that_no_case_shows_alone(pair, factor):
    """The noise in 8 rounds of one case hides a change that 32 rounds of four cases show."""
    calls = itertools.count()

    def change(record):
        i = next(calls)  # the cases of a round follow each other
        return slower(record, compile_=factor * math.exp(0.12 * (-1) ** (i + i // len(VARIANTS))))

    root = pair.write(change, rounds=8, variants=VARIANTS, changed=VARIANTS)
    review = reviewed(root, gate_times=True)
    found = {case for case, metric in regressions(review) if metric == COMPILE}
    assert found == ({POOLED} if factor > 1 else set())
    assert review.compared_count == len(VARIANTS) and len(review.tested) == 2 * 4 + 2
    pooled = [f for f in json.loads(review_json(review))["findings"] if f["case"] == POOLED]
    assert [(f["metric"], f["cause"]) for f in pooled] == (
        [(COMPILE, "unexplained")] if factor > 1 else []
    )
    assert review.exit_code == (1 if factor > 1 else 2) and POOLED in review_markdown(review)


def test_pooled_cases_are_left_out_where_one_case_shows_the_change_alone(pair):
    review = reviewed(pair.write(partial(slower, compile_=1.5), changed=BOTH))
    found = {case for case, metric in regressions(review) if metric == COMPILE}
    assert found == {f"casing_variants/w7x-{variant}-d3" for variant in BOTH}


@pytest.mark.parametrize("speed", [1.0, 0.5])
def test_compile_times_are_the_minimum_over_as_many_compiles_as_every_process_made(tmp_path, speed):
    """If a process of HEAD compiled only twice, the third compile of every process is ignored."""

    class Recompiled(Pair):
        def noisy(self, record):
            first, *again = (super(Recompiled, self).noisy(record) for _ in range(3))
            recompiles = (
                slower(one, compile_=c).phases for one, c in zip(again, (0.8, 0.7), strict=True)
            )
            return dataclasses.replace(first, recompiles=tuple(recompiles))

    rounds = iter(range(ROUNDS))

    def change(record):
        second, third = record.recompiles
        third = slower(dataclasses.replace(record, phases=third), compile_=speed).phases
        again = (second,) if next(rounds) == 0 else (second, third)
        return dataclasses.replace(record, recompiles=again)

    review = reviewed(Recompiled(tmp_path).write(change))
    assert COMPILE not in {metric for _, metric in regressions(review)}
    (found,) = (f for f in review.tested if (f.case, f.metric.name) == (CLOSURE, COMPILE))
    phases = made_up.casing_case("closure", 3, 0).phases
    first = phases.trace_seconds + phases.lower_seconds + phases.compile_seconds
    assert found.base == pytest.approx(0.8 * first, rel=0.03)
    assert found.head == pytest.approx(found.base, rel=0.03)


def test_times_measured_on_two_days_are_not_tested(pair):
    root = pair.write(lambda record: slower(record, steady=2.0), days_apart=1)
    review = reviewed(root)
    assert review.exit_code == 0 and regressions(review) == set()
    assert {f.verdict for f in review.untested} == {"unpaired"} and len(review.untested) == 4
    assert "the rounds of the commits were not interleaved; interleave" in review_markdown(review)


def test_commits_measured_one_after_the_other_are_unpaired_even_within_minutes(pair):
    """Start all rounds of BASE, then at once all rounds of a slower HEAD, as `asv run` does."""
    commits = read_pair(pair.write(lambda record: slower(record, steady=1.08)))
    for minutes, side in ((0, commits.base), (6, commits.head)):
        for case in side.cases.values():
            for i, row in case.good.items():
                row["started_utc"] = f"2026-11-20T10:{minutes + i:02d}:00+00:00"
    review = make_review(commits)
    assert regressions(review) == set() and {f.verdict for f in review.untested} == {"unpaired"}
    assert review.verdict.endswith("(4 times without paired rounds, not tested).")


def test_a_round_does_not_count_if_a_start_is_unknown_or_a_failed_process_came_between(pair):
    base, head = read_pair(pair.write()).case(CLOSURE)
    assert rounds_of(base, head) == (0, 1, 2, 3, 4, 5)
    between = {**base.good[0], "started_utc": "2026-11-01T10:02:10+00:00"}
    assert rounds_of(dataclasses.replace(base, failed=(between,)), head) == (0, 1, 3, 4, 5)
    unknown = {**base.good[0], "started_utc": None}
    unknown = dataclasses.replace(base, good={**base.good, 0: unknown})
    assert rounds_of(unknown, head) == (1, 2, 3, 4, 5)


def test_fewer_than_three_rounds_are_not_tested(pair):
    root = pair.write(lambda record: slower(record, steady=10), rounds=2)
    review = reviewed(root)
    expected = (
        "no regression or improvement; 2 cases compared "
        "(4 times with fewer than 3 paired rounds, not tested)."
    )
    assert (review.exit_code, review.verdict) == (0, f"Passes: {expected}")
    assert {f.verdict for f in review.untested} == {"inconclusive"}
    assert "at most 2 rounds per case; 3 are needed" in review_markdown(review)
    gated = reviewed(root, gate_times=True)
    assert gated.exit_code == 2
    assert gated.verdict == f"No verdict on times: {expected}"


def test_a_round_whose_values_have_no_ratio_is_left_out(pair):
    commits = read_pair(pair.write())
    good = commits.head.cases[CLOSURE].good.values()
    for value, row in zip((math.inf, 0.0, None), good, strict=False):
        row["peak_rss_bytes"] = value
    findings = {(f.case, f.metric.name): f for f in make_review(commits).findings}
    assert findings[CLOSURE, "peak_rss_bytes"].rounds_count == 3
