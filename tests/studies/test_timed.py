"""The study of timed edits: found edits, false alarms, and the runs that are measured."""

from dataclasses import replace

import pytest

from studies.__main__ import main
from studies.detection import timed
from studies.detection.timed import EDITS, markdown, row_of
from studies.harness import read_rows

FIRST, SECOND, *_ = EDITS.values()


def review(*found):
    return {
        "findings": [
            {"case": case, "metric": metric, "verdict": verdict, "base": 1.0, "head": 1.1}
            | {"low": 1.05, "high": 1.15, "rounds_count": 7}
            for case, metric, verdict in found
        ],
        "judgements": {"times": {"outcome": "regression", "reason": "because"}},
        "environment": "a machine",
    }


def test_each_timed_edit_has_its_own_operation():
    assert len({one.operation for one in EDITS.values()}) == len(EDITS)


def test_an_edit_is_found_only_by_a_longer_time_of_its_operation():
    own, other = (f"operations/{one.operation}" for one in (FIRST, SECOND))
    slower = "steady_median_seconds", "regression"
    row = row_of(FIRST.name, review((own, *slower), (own, "steady_std_seconds", "regression")))
    assert (row["found"], row["low"], row["rounds"], row["alarms"]) == ("1.1000", "1.0500", 7, "")
    assert row["times"] == "regression: because"
    pooled = ("3 timed cases pooled", *slower)
    assert not row_of(FIRST.name, review(pooled))["found"], "a pooled finding names no operation"
    assert not row_of(FIRST.name, review((own, slower[0], "improvement")))["found"]
    row = row_of(FIRST.name, review((other, *slower), pooled, (own, slower[0], "same")))
    assert (row["found"], row["alarms"]) == ("", f"{other} steady_median_seconds regression")
    row = row_of("none-1", review((own, *slower), pooled))
    assert row["found"] == "" and row["alarms"].count("regression") == 2


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return the command without measurements; a call returns the folders of all measured runs."""
    measured = []
    monkeypatch.setattr(timed, "measure", lambda commit, folder, _: measured.append(folder.parts))
    monkeypatch.setattr(timed, "reviewed", lambda pair, page: review())
    monkeypatch.setattr(timed, "commit_named", lambda name: "c" * 40)

    def run(*more):
        assert main(["timed", "--out", str(tmp_path / "timed.csv"), *more]) == 0
        return [one[-2:] for one in measured]

    return run


def test_runs_are_resumed_and_each_state_of_the_machine_has_its_own_runs(run, tmp_path):
    assert run("--runs", "1") == [("quiet", "0")]
    assert run("--runs", "2") == [("quiet", "0"), ("quiet", "1")]
    assert run("--runs", "1", "--busy", "1")[2:] == [("1-busy", "0")]
    assert len(run("--runs", "2", "--judge-again")) == 3
    rows = read_rows(tmp_path / "timed.csv")
    assert len(rows) == 3 * (len(EDITS) + len(timed.COPIES))
    lines = markdown(rows).splitlines()
    assert f"| {FIRST.about} | {FIRST.operation} | quiet | 2 | 0 | 0 | 0 |" in lines
    assert "| nothing (equal copies) | – | 1 busy core | 2 | – | 0 | 0 |" in lines


def test_a_run_with_changed_edits_is_measured_again_at_the_same_commit(run, monkeypatch):
    run("--runs", "1")
    monkeypatch.setitem(EDITS, FIRST.name, replace(FIRST, new="another text"))
    assert run("--runs", "1") == run("--runs", "1") == [("quiet", "0")] * 2
