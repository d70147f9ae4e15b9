"""The history: series that are never joined across environments, and the page."""

import dataclasses
import json
import math
import shutil

import pytest

from reports import ReportError, read_store
from reports.__main__ import main
from reports.history import make_history, reviews, write_history, write_reviews
from reports.history.page import compact
from tests.reports import made_up
from tests.reports.history.stores import COMMITS, LAST, STEP


@pytest.fixture(scope="module")
def history(stepped_store):
    return make_history(read_store(stepped_store))


def found(history, case, metric):
    (series,) = (
        s for s in history.environments[0].series if case in s.case and s.metric.name == metric
    )
    return series


def test_change_points_are_found_in_the_right_case_and_metrics(history):
    stepped = {
        (one.case.rsplit("-", 2)[1], one.metric.name, one.steps[0].index)
        for one in history.environments[0].series
        if any(step.found_by != "ruptures" for step in one.steps)
    }
    times = ("first_call_seconds", "steady_median_seconds", "steady_std_seconds")
    assert stepped == {("closure", name, STEP) for name in ("captured_bytes", *times)}


def test_a_point_is_the_median_of_its_processes_and_keeps_the_values_of_times(history):
    series = found(history, "closure", "trace_lower_compile_seconds")
    assert len(series.values) == 12 and all(len(sample) == 3 for sample in series.samples)
    assert series.values[0] == sorted(series.samples[0])[1]
    assert found(history, "closure", "temp_bytes").samples == ()


def test_two_jax_versions_are_two_environments_and_share_no_series(tmp_path):
    other = made_up.casing_case("closure", 3, captured_bytes=1)
    other = made_up.in_environment(other, jax="0.7.2", jaxlib="0.7.2")
    made_up.write(tmp_path, made_up.casing_case("closure", 3), 0, commit=COMMITS[0])
    made_up.write(tmp_path, other, 1, commit=COMMITS[1])
    environments = make_history(read_store(tmp_path)).environments
    assert len(environments) == 2
    for environment in environments:
        assert all(len(series.values) == 1 and not series.steps for series in environment.series)


def test_a_commit_where_every_process_failed_is_listed_and_has_no_point(history, failed_history):
    (environment,) = failed_history.environments
    (failure,) = environment.failed
    assert (failure.commit, failure.processes_count) == (12, 2)
    assert failure.reason == "WrongAnswer in compile: <b>off</b> by 2"
    assert failure.case.endswith("closure-d3") and failed_history.commits[12].hash == LAST
    assert environment.series == history.environments[0].series
    assert "Python 3.11.2" in environment.conditions[12]
    assert history.environments[0].failed == ()


def test_a_case_failed_where_no_process_succeeded_even_if_none_recorded_its_environment(tmp_path):
    case = made_up.casing_case("closure", 3)
    made_up.write(tmp_path, case, 0, commit=COMMITS[0])
    made_up.write(tmp_path, made_up.failed(case.name, {}), 1, commit=COMMITS[0])
    killed = dataclasses.replace(made_up.failed("other/case", {}), environment=None, failure=None)
    made_up.write(tmp_path, killed, 0, commit=COMMITS[0])
    (environment,) = make_history(read_store(tmp_path)).environments
    (failure,) = environment.failed
    assert (failure.case, failure.reason) == ("other/case", "failed")
    assert all(len(one.values) == 1 for one in environment.series)


def test_a_store_of_failures_alone_is_an_error_that_gives_the_first_failure(tmp_path):
    made_up.write(tmp_path, made_up.failed("a/b", {}))
    message = (
        "no process in the store .* succeeded; measure again; "
        "first failure: Timeout in compile: over 60 s$"
    )
    with pytest.raises(ReportError, match=message):
        make_history(read_store(tmp_path))


def test_history_and_triage_list_skipped_files_and_links(tmp_path, capsys):
    broken = made_up.write(tmp_path / "cases", made_up.casing_case("closure", 3), 0)
    made_up.write(tmp_path / "cases", made_up.casing_case("closure", 3, 1), 1)
    broken.write_text("{")
    (tmp_path / "cases" / LAST).symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    where = ["--store", str(tmp_path / "cases"), "--repository", str(tmp_path)]
    assert main(["history", *where, "--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr()
    skipped = [line for line in printed.err.splitlines() if line.startswith("skipped: ")]
    assert len(skipped) == 2 and "truncated" in skipped[0]
    assert skipped[1].startswith(f"skipped: {LAST}: a link")
    assert printed.out.strip().endswith("index.html")
    assert "0.json" in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert main(["triage", *where, "--since", "2026-11-01"]) == 2  # the folder is no clone
    assert set(skipped) < set(capsys.readouterr().err.splitlines())
    assert main(["history", "--store", str(tmp_path / "nowhere")]) == 2


def test_the_command_and_the_page_count_commits_that_the_clone_does_not_have(
    stepped_store, tmp_path, capsys
):
    where = ["--store", str(stepped_store), "--repository", str(tmp_path)]
    assert main(["history", *where, "--out", str(tmp_path / "out")]) == 0
    assert "git does not find 12 commits in" in capsys.readouterr().err
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "<p>Git does not find 12 commits in the clone." in page


def test_a_change_point_links_to_the_review_against_the_commit_before_it(
    stepped_store, history, tmp_path
):
    (address,) = write_reviews(history, stepped_store, tmp_path).values()
    assert address.startswith(f"reviews/{COMMITS[STEP - 1][:10]}-{COMMITS[STEP][:10]}-")
    page = (tmp_path / address).read_text(encoding="utf-8")
    assert "Fails: " in page and "casing_variants/w7x-closure-d3" in page and "captured" in page
    assert "minimum effect 5%, false alarms in 1% of reviews" in page
    reviews = {(history.environments[0].name, COMMITS[STEP - 1], COMMITS[STEP]): address}
    addresses = compact(history, reviews)["environments"][0]["reviews"]
    assert addresses == {f"{COMMITS[STEP - 1]} {COMMITS[STEP]}": address}
    write_history(history, tmp_path, reviews=reviews)


def test_a_review_is_made_again_only_if_records_or_code_changed(
    stepped_store, history, tmp_path, monkeypatch
):
    root = shutil.copytree(stepped_store, tmp_path / "cases")
    made = []
    make = reviews.make_review
    monkeypatch.setattr(reviews, "make_review", lambda sides: made.append(1) or make(sides))

    def written():
        made.clear()
        (address,) = write_reviews(history, root, tmp_path / "out").values()
        assert (tmp_path / "out" / address).exists()
        return len(made)

    assert [written(), written()] == [1, 0]
    (elsewhere,) = (root / COMMITS[0]).rglob("*closure-d3/0.json")
    elsewhere.unlink()
    assert written() == 0
    (record, *_) = (root / COMMITS[STEP]).rglob("*closure-d3/0.json")
    record.unlink()
    assert [written(), written()] == [1, 0]
    monkeypatch.setattr(reviews, "_digest_of_code", lambda: "other code")
    assert [written(), written()] == [1, 0]
    next((tmp_path / "out").rglob("reviews/*/index.html")).unlink()
    assert [written(), written()] == [1, 0]
    next((tmp_path / "out").rglob(reviews.MADE_OF)).write_bytes(b"\xff")
    assert [written(), written()] == [1, 0]


def test_a_commit_has_its_review_even_if_a_longer_name_begins_with_its_name(tmp_path):
    """Measure a commit with and without an injected regression, each with and without XLA flags."""
    for day, commit in enumerate((COMMITS[0], f"{COMMITS[0]}+injected"), start=1):
        for i, flags in enumerate(("", "--xla_flag")):
            started = f"2026-11-0{day}T10:00:00+00:00"
            case = made_up.casing_case("closure", 3, captured_bytes=1000 * day)
            case = made_up.in_environment(case, xla_flags=flags, started_utc=started)
            made_up.write(tmp_path / "cases", case, i, commit=commit)
    made = make_history(read_store(tmp_path / "cases"))
    addresses = write_reviews(made, tmp_path / "cases", tmp_path / "out")
    assert {environment for environment, *_ in addresses} == {one.name for one in made.environments}
    assert len(set(addresses.values())) == len(made.environments) == 2
    for (environment, *_), address in addresses.items():
        data = json.loads((tmp_path / "out" / address).with_name("review.json").read_text())
        assert data["environment"] == environment


def test_an_error_that_is_not_a_number_was_measured_and_a_missing_number_was_not(tmp_path):
    field, gradient = {"error_relative": 1e-7}, {"gradient_error_relative": 1e-6}
    not_a_number = {"gradient_error_relative": math.nan}
    for i, checks in enumerate((field | gradient, field, field | not_a_number)):
        record = made_up.record("a/b", {}, checks=checks, repeat=5 if i else 0)
        made_up.write(tmp_path, record, i)
    history = make_history(read_store(tmp_path))
    assert len(found(history, "a/b", "error_relative").samples[0]) == 3
    assert len(found(history, "a/b", "steady_median_seconds").samples[0]) == 2
    series = found(history, "a/b", "gradient_error_relative")
    assert [str(value) for value in series.samples[0]] == ["1e-06", "nan"]
    assert math.isnan(series.values[0])
