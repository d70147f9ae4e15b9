"""The digest of recent commits: changes, thresholds of noise, and commands for reviews."""

import dataclasses
import math
import random

import pytest

from reports import ReportError
from reports.commits import Commit
from reports.history.page import compact
from reports.history.series import LOWEST_THRESHOLD, Series, noise_threshold
from reports.history.steps import Step
from reports.quantities import KNOWN
from reports.triage import Change, triage
from tests.reports.history.stores import COMMITS, STEP


def test_a_threshold_is_the_minimum_without_a_past_and_grows_with_the_noise():
    rng = random.Random(1)
    assert noise_threshold([1.0, 3.0, 1.0]) == LOWEST_THRESHOLD
    quiet, loud = ([math.exp(rng.gauss(0, noise)) for _ in range(60)] for noise in (0.001, 0.1))
    assert noise_threshold(quiet) == LOWEST_THRESHOLD
    assert 0.3 < noise_threshold(loud) < 1.5


def test_a_changed_level_is_not_noise():
    values = [1.0] * 10 + [2.0] * 10
    assert noise_threshold(values, {10}) == LOWEST_THRESHOLD == noise_threshold(values)


@pytest.mark.parametrize(
    "before, after, how",
    [(3, 0, "3 → 0"), (0, 3, "+3 B"), (math.inf, 3, "inf → 3"), (2, 3, "1.50×")],
)
def test_a_change_gives_both_values_if_there_is_no_ratio(before, after, how):
    (metric,) = (metric for metric in KNOWN if metric.name == "captured_bytes")
    series = Series("a/b", metric, (0, 1), (before, after), (), ())
    shown = str(Change(series, Step(1, before, after, "exact"), 0, 1))
    assert f" {how} in a/b" in shown


def test_the_digest_names_commit_size_case_and_command(failed_history, tmp_path):
    commits = tuple(
        Commit(one.hash, f"2026-11-{i:02d}", "Keep a table", "A. Author")
        for i, one in enumerate(failed_history.commits, start=1)
    )
    known = dataclasses.replace(failed_history, commits=commits)
    text = triage(known, "2026-11-05", tmp_path)
    assert text.startswith("# Triage of 9 measured commits since 2026-11-05")
    (regressions,) = [part for part in text.split("### ") if part.startswith("Regressions")]
    assert f"**{COMMITS[STEP][:10]}** Keep a table (A. Author): captured 1.66×" in regressions
    base, head = COMMITS[STEP - 1][:10], COMMITS[STEP][:10]
    assert f"`make review BASE={base} HEAD={head}`" in regressions
    (unexplained,) = [part for part in text.split("### ") if part.startswith("Unexplained")]
    assert "steady-state median 1.29×" in unexplained
    assert "### Failed or skipped" in text and "WrongAnswer" in text
    assert "Regressions" not in triage(known, "2026-11-10", tmp_path)


@pytest.mark.parametrize("since", ["2020-01-01-release", "2026-13-45", "2026-11-31", "20261101"])
def test_a_text_that_is_not_exactly_a_valid_date_is_looked_up_in_git(
    failed_history, tmp_path, since
):
    with pytest.raises(ReportError, match=f"finds no commit '{since}'"):
        triage(failed_history, since, tmp_path)


@pytest.mark.parametrize("unknown", [0, 9])
def test_the_digest_counts_the_commits_that_the_clone_does_not_have(
    failed_history, tmp_path, unknown
):
    commits = tuple(
        Commit(one.hash, "" if i < unknown else "2026-11-05")
        for i, one in enumerate(failed_history.commits)
    )
    text = triage(dataclasses.replace(failed_history, commits=commits), "2026-11-01", tmp_path)
    assert f"Triage of {13 - unknown} measured commits" in text
    assert ("Left out: 9 measured commits that the clone does not have" in text) == (unknown == 9)


@pytest.mark.parametrize(
    "before, after, is_worse", [(1e-6, math.nan, True), (math.nan, 1e-6, False)]
)
def test_an_error_that_becomes_nan_is_a_regression_and_its_repair_an_improvement(
    failed_history, tmp_path, before, after, is_worse
):
    (metric,) = (metric for metric in KNOWN if metric.name == "error_relative")
    steps = (Step(1, before, after, "exact"),)
    series = Series("a/b", metric, (0, 1), (before, after), (), steps)
    environment = dataclasses.replace(failed_history.environments[0], series=(series,))
    commits = tuple(Commit(one.hash, "2026-11-05") for one in failed_history.commits)
    made = dataclasses.replace(failed_history, environments=(environment,), commits=commits)
    text = triage(made, "2026-11-05", tmp_path)
    assert ("### Regressions" in text, "### Improvements" in text) == (is_worse, not is_worse)
    (step,) = compact(made, {})["environments"][0]["series"][0][5]
    assert step[-1] == is_worse


def test_a_date_without_later_commits_and_an_unknown_name_are_errors(failed_history, tmp_path):
    with pytest.raises(ReportError, match="no measured commit since 2027-01-01"):
        triage(failed_history, "2027-01-01", tmp_path)
    with pytest.raises(ReportError, match="finds no commit 'v9'"):
        triage(failed_history, "v9", tmp_path)
