"""A commit is judged by its worst process and by the numbers that it lacks."""

import dataclasses
import math

import pytest

from jaxmeter import Constants
from reports.quantities import Metric
from reports.review.findings import compare_exact_metric
from reports.review.read import CaseResults
from reports.review.sections import change_words
from tests.reports import made_up
from tests.reports.review.pairs import BASE, CLOSURE, HEAD, part, regressions, reviewed, slower

TRACES = Metric("traces_count", "exact")
FLOPS = Metric("flops", "exact")
FUSIONS = Metric("fusions_count", "exact")
TEMP = Metric("temp_bytes", "exact")
ERROR = Metric("gradient_error_relative", "error")
NAN, INF, NONE = math.nan, math.inf, None


def case(metric, values):
    """Return a case with a value for each process; None means no value."""
    return CaseResults({i: {metric.name: value} for i, value in enumerate(values)})


MISSING = "only at BASE, missing at HEAD"
NEW = "new: only at HEAD, so it cannot be compared"
VARIES = "varies from process to process"


@pytest.mark.parametrize(
    "metric, base, head, expected",
    [
        (TRACES, [1] * 6, [1] + [50] * 5, ("regression", "in 5 of 6 processes")),
        (TRACES, [1] * 6, [1] * 5 + [2], ("regression", "in 1 of 6 processes")),
        (TRACES, [2] * 6, [1] * 6, ("improvement", "")),
        (TRACES, [2] * 6, [2] + [1] * 5, ("inconclusive", "lower in 5 of 6 processes")),
        (TRACES, [1, 2], [2, 2], ("inconclusive", VARIES)),
        (TRACES, [1, 2], [2, 1], ("same", VARIES)),
        (TRACES, [1, 2], [3, 3], ("regression", "")),
        (TRACES, [3, 3], [1, 2], ("improvement", "")),
        (TRACES, [1] * 6, [NONE] * 6, ("regression", MISSING)),
        (TRACES, [1] * 6, [1] + [NONE] * 5, ("regression", f"{MISSING} in 5 of 6 processes")),
        (TRACES, [1, NONE], [1, NONE], ("same", "")),
        (TRACES, [NONE] * 6, [1] * 6, ("changed", NEW)),
        (TRACES, [NONE], [NONE], None),
        (FUSIONS, [9], [NONE], ("changed", MISSING)),  # not gated
        (FLOPS, [1e9], [1.14e9], ("regression", "")),
        (FLOPS, [1e9], [1.04e9], ("changed", "by less than 5%")),
        (FLOPS, [1e9], [0.9e9], ("improvement", "")),
        (TEMP, [9_000_000], [9_000_008], ("changed", "by less than 1024 bytes")),
        (ERROR, [1e-7] * 6, [1e-7] + [1.0] * 5, ("regression", "the answer is less accurate")),
        (ERROR, [1e-7] * 6, [1e-7] + [NAN] * 5, ("regression", "not finite in 5 of 6 processes")),
        (ERROR, [1e-7, NAN], [NAN, NAN], ("regression", "not finite")),
        (ERROR, [NAN, INF], [1e-7, 1e-7], ("improvement", "not finite at BASE")),
        (ERROR, [1e-7] * 6, [INF] * 6, ("regression", "not finite")),
        (ERROR, [INF], [NAN], ("inconclusive", "not finite at BASE and at HEAD")),
        (ERROR, [INF], [INF], ("inconclusive", "not finite at BASE and at HEAD")),
        (ERROR, [1e-7, NAN], [1e-3, 1e-3], ("regression", "the largest finite error is larger")),
        (ERROR, [1e-7, NAN], [1e-3, NAN], ("regression", "the largest finite error is larger")),
        (
            ERROR,
            [1e-7, NAN],
            [1e-7, NAN],
            (
                "inconclusive",
                "not finite in 1 of 2 processes at BASE and in 1 of 2 processes at HEAD",
            ),
        ),
        (ERROR, [1e-7] * 2, [NONE] * 2, ("regression", MISSING)),
        (ERROR, [NONE] * 2, [0.5] * 2, ("changed", NEW)),
    ],
)
def test_a_commit_is_judged_by_its_worst_process(metric, base, head, expected):
    pair = case(metric, base), case(metric, head)
    found = compare_exact_metric("suite/case", metric, pair)
    assert (found and (found.verdict, found.note)) == expected
    assert not found or "NaN" not in change_words(found)


@pytest.mark.parametrize("base_failed, head_failed", [(0, 1), (1, 6), (1, 5)])
def test_a_case_that_fails_more_often_at_head_is_broken(pair, base_failed, head_failed):
    review = reviewed(with_failures(pair, base_failed, head_failed))
    assert review.exit_code == 1 and [one.case for one in review.broken] == [CLOSURE]
    reason = review.broken[0].reason
    assert f"failed at HEAD in {head_failed} of 6 processes: WrongAnswer" in reason
    assert ("at BASE in 1 of 6" in reason) == (base_failed == 1)


def test_a_case_that_fails_equally_often_at_both_commits_is_compared_and_reported(pair):
    review = reviewed(with_failures(pair, 1, 1))
    assert review.exit_code == 0 and review.compared_count == 2
    assert "1 case with failed processes" in review.verdict
    reason = "failed at BASE in 1 of 6 processes, failed at HEAD in 1 of 6 processes: WrongAnswer"
    assert review.flaky[CLOSURE].startswith(reason)


def with_failures(pair, base_failed, head_failed):
    root = pair.write()
    failed = made_up.failed(CLOSURE, made_up.casing_case("closure", 3).params, kind="WrongAnswer")
    for side, commit, count in (("base", BASE, base_failed), ("head", HEAD, head_failed)):
        for i in range(count):
            made_up.write(root / side, failed, i, commit=commit)
    return root


def test_arrays_are_listed_from_the_process_that_captures_most(pair):
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


def test_constants_missing_at_head_fail_and_no_array_is_called_gone(pair):
    names = (field.name for field in dataclasses.fields(Constants))
    review = reviewed(pair.write(part("constants", **dict.fromkeys(names) | {"arrays": ()})))
    assert review.exit_code == 1 and [cause.kind for cause in review.causes] == ["one_sided"]
    assert "captured, embedded, hidden argument missing in 1 case" in review.verdict


def test_findings_that_are_not_gated_are_counted_in_the_verdict(pair):
    """Change the resident memory and the program, and add a check."""

    def change(record):
        record = part("program", fusions_count=97, accessed_bytes=4e12)(record)
        record = dataclasses.replace(record, checks={**record.checks, "other_relative": 0.5})
        many = record.memory.peak_rss_bytes * 100
        return part("memory", peak_rss_bytes=many + int(1e6 * pair.rng.random()))(record)

    review = reviewed(pair.write(change))
    assert review.exit_code == 0
    assert regressions(review) == {(CLOSURE, "peak_rss_bytes")}
    assert review.verdict == (
        "Passes: peak RSS regressed (not gated) in 1 case; fusions, accessed changed in 1 case; "
        "other only at HEAD in 1 case; 2 cases compared."
    )


def test_missing_steady_state_times_fail_where_times_are_gated(pair):
    root = pair.write(lambda record: dataclasses.replace(slower(record), samples_seconds=()))
    assert "steady-state median, steady-state std only at BASE in 1 case" in reviewed(root).verdict
    review = reviewed(root, gate_times=True)
    assert review.exit_code == 1 and "steady-state median missing in 1 case" in review.verdict
