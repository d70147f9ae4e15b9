"""The verdict in two lines: exact quantities and times, each with its reason."""

import dataclasses
import math

import pytest

from reports.commits import Commit
from reports.review import Policy, judgements, make_review, read_pair, review_markdown
from reports.review.output import review_page
from tests.reports.review.pairs import CLOSURE, HEAD, part, reviewed, slower


def lines(review):
    exact, times = judgements(review)
    return (exact.outcome, exact.reason), (times.outcome, times.reason)


DOUBLED = part("memory", temp_bytes=18_000_000)


def test_equal_commits_pass_in_both_lines(pair):
    commits = read_pair(pair.write(changed=()))
    for side in (commits.base, commits.head):
        for name, case in side.cases.items():
            first = commits.base.cases[name].good[0]
            for row in case.good.values():
                row |= {key: x for key, x in first.items() if key.endswith("_seconds")}
    assert lines(make_review(commits)) == (
        ("passes", "2 cases, all equal"),
        ("passes", "4 tested; a change above 5% would be found"),
    )


@pytest.mark.parametrize("error", [math.nan, math.inf])
def test_an_error_that_is_not_finite_at_both_commits_is_inconclusive_and_not_equal(pair, error):
    commits = read_pair(pair.write(changed=()))
    for case in (*commits.base.cases.values(), *commits.head.cases.values()):
        for row in case.good.values():
            row["error_relative"] = error
    review = make_review(commits)
    assert lines(review)[0] == ("passes", "2 cases; 2 numbers inconclusive")
    assert "2 numbers inconclusive" in review.verdict
    assert "| not finite | inconclusive" in review_markdown(review)


def test_an_error_that_is_new_at_head_and_nan_is_reported(pair):
    def change(record):
        return dataclasses.replace(record, checks={**record.checks, "other_relative": math.nan})

    review = reviewed(pair.write(change))
    assert review.exit_code == 0 and "other only at HEAD in 1 case" in review.verdict
    assert CLOSURE in review_markdown(review) and review_page(review)


def test_a_longer_and_a_shorter_time_are_mixed(pair):
    def change(record):
        return slower(record, steady=1.5, compile_=0.5)

    _, (outcome, reason) = lines(reviewed(pair.write(change)))
    assert outcome == "mixed" and "steady-state median 1.4" in reason and CLOSURE in reason


@pytest.mark.parametrize("load, said", [(7.8, "load 7.8; "), (2.1, "load 2.1; "), (2.0, "")])
def test_times_that_are_not_judged_have_a_reason_and_the_load(pair, load, said):
    commits = read_pair(pair.write(rounds=2))
    for case in commits.head.cases.values():
        for row in case.good.values():
            row |= {"load_1min_before": load, "cpus_available_count": 2}
    assert lines(make_review(commits))[1] == (
        "not judged",
        f"{said}at most 2 rounds per case; 3 are needed",
    )


def test_times_that_scatter_too_much_are_not_judged(pair):
    commits = read_pair(pair.write(rounds=4))
    for i, row in enumerate(commits.head.cases[CLOSURE].good.values()):
        row["steady_median_seconds"] *= (0.8, 1.3, 1.0, 1.2)[i]
    outcome, reason = lines(make_review(commits))[1]
    assert outcome == "not judged" and "may have changed by up to" in reason
    assert make_review(commits, Policy(gate_times=True)).exit_code == 2


def test_the_head_of_page_and_comment_has_changes_subjects_and_authors(pair):
    commits = read_pair(pair.write(DOUBLED))
    about = {HEAD: Commit(HEAD, "", "Keep all <weights>", "A. Author")}
    review = make_review(dataclasses.replace(commits, about=about))
    text, page = review_markdown(review), review_page(review)
    assert f"**Exact: regression** – temp 2.00× in {CLOSURE}\n" in text and "A. Author" in text
    assert "Keep all &lt;weights&gt; (A. Author)" in page and "Times: " in page


def test_the_reason_of_an_exact_regression_names_the_source_line(pair):
    commits = read_pair(pair.write(DOUBLED))
    text = "new: vcjax/_kernels/near.py:104 in near: one_block = function\nnumbers"
    review = make_review(dataclasses.replace(commits, programs={CLOSURE: text}))
    assert lines(review)[0][1].endswith("(line vcjax/_kernels/near.py:104)")
