"""The detection study's bookkeeping: what counts as found, what as a false alarm, what is left."""

import importlib.util
import json
from pathlib import Path

import pytest

from benchmarks import asv_beside
from benchmarks.metrics import Summary
from benchmarks.pair import PLANTS, ROOT, chosen_cells

TOUCHED, GRADIENT = "casing_variants/w7x-argument-d3", "memory_sweep/gradient-cauto-tauto"


@pytest.fixture(scope="module")
def detection():
    spec = importlib.util.spec_from_file_location("detection", ROOT / "tools" / "detection.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def review(*worse, broken=()):
    findings = [{"cell": c, "metric": m, "verdict": "worse"} for c, m in worse]
    lost = [{"cell": c, "is_worse": True, "failure_kind": kind} for c, kind in broken]
    return {"findings": findings, "not_compared": lost, "tested_count": 6}


def test_every_plant_has_what_it_must_be_found_by_and_an_exact_one_a_cell(detection):
    assert set(detection.FOUND_BY) == {path.stem for path in PLANTS.glob("[a-z]*.py")}
    assert set(detection.EXACT) <= set(detection.FOUND_BY)
    assert chosen_cells(sorted(set(detection.EXACT.values())), 1)


def test_a_plant_is_found_by_its_own_metric_where_it_acts_and_by_no_other(detection):
    right = review((TOUCHED, "temp_bytes"))
    elsewhere = review((GRADIENT, "temp_bytes"))
    other = review((TOUCHED, "build_seconds"))
    runs = [(right, [[TOUCHED, "temp_bytes"]]), (elsewhere, []), (other, [[GRADIENT, "x"]])]
    assert detection.tally("more_scratch", runs) == (3, 1, 1, 18, 1, 1)


def test_a_cell_that_breaks_by_another_error_than_the_plants_is_no_find(detection):
    right, wrong = review(broken=[(TOUCHED, "RetraceError")]), review(broken=[(TOUCHED, "Timeout")])
    assert detection.tally("retrace", [(right, []), (wrong, [])])[:2] == (2, 1)


def test_between_equal_commits_everything_is_a_false_alarm(detection):
    found = review((TOUCHED, "settled_median_seconds"), (GRADIENT, "peak_rss_bytes"))
    rows = [("equal", *detection.tally("equal", [(found, []), (review(), [])]))]
    assert rows == [("equal", 2, 0, 2, 12, 0, 0)]
    assert "| equal | 2 | – | 2 | 12 | – | 0 |" in detection.table(rows)


@pytest.fixture
def study(detection, monkeypatch, tmp_path):
    """The command with its measuring replaced: a run of `told`, or one that fails."""
    measured = []

    def measure(commit, name, folder, options):
        if name == "chunk_size" and len(measured) == 3:
            raise detection.RunFailed(f"{folder} could not be measured")
        measured.append(name)
        (Path(folder) / "page").mkdir(parents=True)
        told = review((TOUCHED, "temp_bytes")) if name == "chunk_size" else review()
        (Path(folder) / "page" / "review.json").write_text(json.dumps(told))
        (Path(folder) / "asv.json").write_text("[]")

    monkeypatch.setattr(detection, "measure", measure)
    monkeypatch.setattr(detection, "named", lambda name: "c" * 40)

    def command(*more):
        only = ["--only", "equal", "chunk_size", "--equal-runs", "3", "--runs", "2"]
        return detection.main([*only, "--out", str(tmp_path), *more]), list(measured)

    return command


def test_runs_take_turns_and_those_that_are_there_are_not_made_again(study, capsys, tmp_path):
    assert study("--minutes", "0") == (0, [])
    assert study()[0] == 2  # the second of chunk_size fails
    assert "| chunk size | 1 | 1 |" in (tmp_path / "cccccccccc" / "detection.md").read_text()
    code, measured = study("--minutes", "0")
    assert (code, measured) == (0, ["equal", "chunk_size", "equal"])
    assert "| equal | 2 |" in capsys.readouterr().out


def test_an_unknown_regression_and_one_that_is_not_exact_are_refused(detection, capsys):
    for arguments in (["--only", "nothing"], ["--exact", "--only", "slower_run"]):
        with pytest.raises(SystemExit):
            detection.main(arguments)
        assert "there are equal, captured_array" in capsys.readouterr().err


def summary(status="ok", message="", *, times=(), **numbers):
    return Summary(
        status=status, message=message, times={"compile_seconds": list(times)}, numbers=numbers
    )


def test_asv_needs_a_tenth_in_numbers_and_processes_that_agree_in_times():
    steady, slower, noisy = (1.0, 1.01, 0.99) * 3, (1.3, 1.31, 1.29) * 3, (0.9, 1.4, 0.8) * 3
    base = {TOUCHED: summary(times=steady, temp_bytes=100)}
    for times, temp, found in [
        (slower, 100, ["build_seconds"]),
        (noisy, 105, []),
        (steady, 112, ["temp_bytes"]),
    ]:
        head = {TOUCHED: summary(times=times, temp_bytes=temp)}
        assert asv_beside.worse(base, head) == [(TOUCHED, metric) for metric in found]


def test_asv_sees_a_cell_that_fails_and_nothing_in_cells_of_no_suite():
    failed = summary("failed", "settled: RetraceError: traced again: for the same arguments")
    cells = dict.fromkeys([TOUCHED, "casing_preparation/w7x-d3"], summary())
    assert asv_beside.worse(cells, dict.fromkeys(cells, failed)) == [(TOUCHED, "RetraceError")]


def test_a_folder_that_is_no_pair_is_told(tmp_path, capsys):
    assert asv_beside.main([str(tmp_path)]) == 2
    assert "is no measured pair" in capsys.readouterr().err
