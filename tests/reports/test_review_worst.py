"""A commit is judged by the worst of its processes, and by what it no longer tells."""

import dataclasses
import math

import pytest

from reports.metrics import Metric
from reports.review.certain import certain
from reports.review.sides import CaseSide
from tests.reports.review_pairs import BASE, CLOSURE, HEAD, Pair, part, reviewed, slower, worse

TRACES = Metric("traces_count", "exact")
FLOPS = Metric("flops", "exact")
ERROR = Metric("gradient_error_relative", "error")
NAN, NONE = math.nan, None


@pytest.fixture
def pair(made_up, tmp_path):
    return Pair(made_up, tmp_path / "pair")


def case(metric, values):
    """A case whose processes gave these values; None for one that gave none."""
    good = {i: {metric.name: value} for i, value in enumerate(values)}
    checked = {i: frozenset({metric.name} if v is not None else ()) for i, v in enumerate(values)}
    return CaseSide(good, (), (), (), checked)


def verdict(metric, base, head):
    found = certain("suite/case", metric, (case(metric, base), case(metric, head)))
    return (found.verdict, found.note) if found else None


@pytest.mark.parametrize(
    "base, head, told",
    [
        ([1] * 6, [1] + [50] * 5, ("worse", "in 5 of 6 processes")),
        ([1] * 6, [1] * 5 + [2], ("worse", "in 1 of 6 processes")),
        ([2] * 6, [1] * 6, ("better", "")),
        ([2] * 6, [2] + [1] * 5, ("inconclusive", "lower in 5 of 6 processes")),
        ([1, 2], [2, 2], ("inconclusive", "differs between the processes of BASE")),
        ([1, 2], [2, 1], ("same", "differs between the processes of BASE")),
        ([1, 2], [3, 3], ("worse", "")),
        ([3, 3], [1, 2], ("better", "")),
        ([1] * 6, [NONE] * 6, ("worse", "only at BASE, missing at HEAD")),
        (
            [1] * 6,
            [1] + [NONE] * 5,
            ("worse", "only at BASE, missing at HEAD in 5 of 6 processes"),
        ),
        ([1, NONE], [1, NONE], ("same", "")),
        ([NONE] * 6, [1] * 6, ("changed", "new: only at HEAD, nothing to compare it with")),
        ([NONE], [NONE], None),
    ],
)
def test_no_process_excuses_another_of_an_exact_metric(base, head, told):
    assert verdict(TRACES, base, head) == told


@pytest.mark.parametrize(
    "base, head, told",
    [
        ([1e-7] * 6, [1e-7] + [1.0] * 5, ("worse", "the answer is less accurate")),
        ([1e-7] * 6, [1e-7] + [NAN] * 5, ("worse", "not a number in 5 of 6 processes")),
        ([1e-7, NAN], [NAN, NAN], ("worse", "not a number")),
        ([NAN, NAN], [1e-7, 1e-7], ("better", "not a number at BASE")),
        (
            [1e-7, NAN],
            [1e-7, NAN],
            (
                "inconclusive",
                "not a number in 1 of 2 processes at BASE and in 1 of 2 processes at HEAD",
            ),
        ),
        ([1e-7] * 2, [NONE] * 2, ("worse", "only at BASE, missing at HEAD")),
        ([NONE] * 2, [0.5] * 2, ("changed", "new: only at HEAD, nothing to compare it with")),
    ],
)
def test_no_process_excuses_another_of_any_error(base, head, told):
    assert verdict(ERROR, base, head) == told


def test_what_is_not_gated_and_vanishes_is_told_and_stops_nobody():
    assert verdict(FLOPS, [1e9], [NONE]) == ("changed", "only at BASE, missing at HEAD")


@pytest.mark.parametrize(
    "base_failed, head_failed",
    [((), range(1)), (range(1), range(6)), (range(1), range(5))],
)
def test_a_cell_that_fails_more_often_is_broken_whatever_befell_base(
    made_up, pair, base_failed, head_failed
):
    review = reviewed(failing(made_up, pair, base_failed, head_failed))
    assert review.exit_code == 1 and [one.case for one in review.broken] == [CLOSURE]
    counts = f"at HEAD in {len(head_failed)} of 6 processes, at BASE in {len(base_failed)} of 6"
    assert counts in review.broken[0].reason


def test_a_cell_that_fails_as_often_at_both_is_compared_and_told(made_up, pair):
    review = reviewed(failing(made_up, pair, range(1), range(1)))
    assert review.exit_code == 0 and review.compared_count == 2
    assert "failed processes in 1 case" in review.verdict
    told = "failed at BASE in 1 of 6 processes, failed at HEAD in 1 of 6 processes: WrongAnswer"
    assert review.flaky[CLOSURE].startswith(told)


def failing(made_up, pair, base_failed, head_failed):
    root = pair.write()
    failed = made_up.failed(CLOSURE, made_up.casing_case("closure", 3).params, kind="WrongAnswer")
    for side, commit, rounds in (("base", BASE, base_failed), ("head", HEAD, head_failed)):
        for i in rounds:
            made_up.write(root / side, failed, i, commit=commit)
    return root


def test_arrays_of_a_process_that_captures_more_are_named_though_the_first_does_not(made_up, pair):
    (array,) = made_up.casing_case("closure", 3).constants.arrays
    more = dataclasses.replace(array, shape=(8192,), bytes=65536)
    written = []

    def change(record):
        written.append(record)
        if len(written) == 1:
            return record
        constants = record.constants
        size = constants.captured_bytes + more.bytes
        return part("constants", captured_bytes=size, arrays=(*constants.arrays, more))(record)

    (cause,) = reviewed(pair.write(change)).causes
    assert cause.kind == "constants" and "captures float64[8192] (65.5 kB)" in cause.evidence[0]
    assert cause.findings[0].note == "in 5 of 6 processes"


def test_constants_that_head_does_not_tell_are_missing_and_no_array_is_called_gone(made_up, pair):
    def change(record):
        nothing = made_up.record("a/b", {}).constants
        names = {f.name: None for f in dataclasses.fields(nothing)} | {"arrays": ()}
        return dataclasses.replace(record, constants=dataclasses.replace(nothing, **names))

    review = reviewed(pair.write(change))
    assert review.exit_code == 1 and [cause.kind for cause in review.causes] == ["one_sided"]
    assert "captured, embedded, hidden argument missing in 1 case" in review.verdict


def test_what_informs_only_is_counted_in_the_verdict(pair):
    """Resident memory, another program, a check that is new: none of them passes in silence."""

    def change(record):
        record = part("program", flops=3.1e12, accessed_bytes=4e12)(record)
        record = dataclasses.replace(record, checks={**record.checks, "other_relative": 0.5})
        many = record.memory.peak_rss_bytes * 100
        return part("memory", peak_rss_bytes=many + int(1e6 * pair.rng.random()))(record)

    review = reviewed(pair.write(change))
    assert review.exit_code == 0
    assert worse(review) == {(CLOSURE, "peak_rss_bytes")}
    assert review.verdict == (
        "peak RSS worse (informs only); 2 exact metrics changed; other only at HEAD; "
        "of 2 cases compared."
    )


def test_steady_runs_that_vanish_fail_where_times_decide(pair):
    root = pair.write(lambda record: dataclasses.replace(slower(record), samples_seconds=()))
    assert "steady-state median, steady-state std only at BASE" in reviewed(root).verdict
    review = reviewed(root, gate_times=True)
    assert review.exit_code == 1 and "steady-state median missing in 1 case" in review.verdict
