"""The detection study's bookkeeping: what counts as found, what as a false alarm, what is left."""

import json
from pathlib import Path

import pytest

from benchmarks.measuring import pair
from benchmarks.measuring.pair import chosen_cases
from benchmarks.summary import Summary
from studies.detection import asv_verdict
from studies.detection import study as detection
from studies.detection import table as detection_table
from studies.detection.table import PLANTS, false_alarms, found_in, markdown, row

TOUCHED, GRADIENT = "casing_variants/w7x-argument-d3", "memory_sweep/gradient-cauto-tauto"


def review(*told, broken=(), verdict="worse"):
    findings = [{"case": c, "metric": m, "verdict": verdict} for c, m in told]
    lost = [{"case": c, "is_worse": True, "failure_kind": kind} for c, kind in broken]
    return {
        "findings": findings,
        "not_compared": lost,
        "tested_count": 6,
        "setting": "a machine, JAX 1",
        "verdict": "told",
    }


def test_every_plant_has_what_it_must_be_found_by_and_an_exact_one_a_cell():
    assert set(PLANTS) == {path.stem for path in pair.INJECTED.glob("[a-z]*.py")}
    assert chosen_cases([str(PLANTS[name].exact_case) for name in detection.EXACT], 1)


def test_a_plant_is_found_by_its_own_metric_where_it_acts_and_by_no_other():
    for case, metric, verdict, found in [
        (TOUCHED, "temp_bytes", "worse", [TOUCHED]),
        (TOUCHED, "temp_bytes", "better", []),
        (GRADIENT, "temp_bytes", "worse", []),
        (TOUCHED, "build_seconds", "worse", []),
    ]:
        assert found_in("more_scratch", [(case, metric, verdict)]) == found
        assert found_in("equal", [(case, metric, verdict)]) == []


def test_a_cell_that_breaks_by_another_error_than_the_plants_is_no_find():
    for kind, found in (("RetraceError", TOUCHED), ("Timeout", "")):
        one = row("retrace", review(broken=[(TOUCHED, kind)]), [])
        assert (one.found_in, one.asv_found_in) == (found, "")


def test_between_equal_commits_everything_told_is_a_false_alarm():
    for verdict in ("worse", "better", "changed"):
        one = row("equal", review((TOUCHED, "flops"), (GRADIENT, "x"), verdict=verdict), [])
        assert one.false_alarms == f"{TOUCHED} flops {verdict}; {GRADIENT} x {verdict}"
    assert row("equal", review(), [(TOUCHED, "x")]).asv_false_alarms == f"{TOUCHED} x worse"


def test_what_a_plant_cannot_do_is_a_false_alarm():
    told = [(TOUCHED, "build_seconds", "worse"), (TOUCHED, "steady_median_seconds", "better")]
    assert false_alarms("slower_run", told) == []  # it changes the program
    assert false_alarms("slower_compile", told) == [f"{TOUCHED} steady_median_seconds better"]
    untouched = [("casing_preparation/w7x-d3", "flops", "changed")]
    assert len(false_alarms("slower_run", untouched)) == 1


def test_the_table_counts_runs_and_tells_every_false_alarm(tmp_path):
    slow = review((TOUCHED, "steady_median_seconds"))
    rows = [
        row("equal", review((TOUCHED, "flops")), []),
        row("equal", review(), [(TOUCHED, "x"), (GRADIENT, "x")]),
        row("slower_run", slow, [(TOUCHED, "steady_median_seconds")]),
        row("slower_run", slow, []),
    ]
    lines = markdown(rows).splitlines()
    assert lines[2:4] == ["| equal | 2 | – | 1 | – | 1 |", "| slower run | 2 | 2 | 0 | 1 | 0 |"]
    assert lines[5:] == [
        f"- equal, run 0: {TOUCHED} flops worse",
        f"- asv, equal, run 1: {TOUCHED} x worse; {GRADIENT} x worse",
    ]
    detection_table.write_csv(tmp_path / "kept.csv", "c" * 40, rows)
    assert detection_table.read_csv(tmp_path / "kept.csv") == rows


@pytest.mark.parametrize("kept", ["exact", "times", "times_while_choosing"])
def test_the_tables_of_the_documentation_are_those_of_the_runs_that_were_kept(kept):
    rows = detection_table.read_csv(pair.INJECTED.parent / "measured" / f"{kept}.csv")
    assert len({one.setting for one in rows}) == 1
    assert detection_table.table(rows) in (pair.ROOT / "docs" / "history.md").read_text()


@pytest.fixture
def study(monkeypatch, tmp_path):
    """The command with its measuring replaced; that of the third number fails the first time."""
    measured = []

    def measure(commit, names, folder, options):
        measured.append((Path(folder).name, *names))
        if len(measured) == 3:
            raise detection.RunFailed(f"{folder} could not be measured")

    def judge(pair, folder):
        told = review((TOUCHED, "temp_bytes")) if folder.endswith("chunk_size") else review()
        (Path(folder) / "page").mkdir(parents=True, exist_ok=True)
        (Path(folder) / "page" / "review.json").write_text(json.dumps(told))
        (Path(folder) / "asv.json").write_text("[]")

    monkeypatch.setattr(detection, "measure", measure)
    monkeypatch.setattr(detection, "judge", judge)
    monkeypatch.setattr(detection, "named", lambda name: "c" * 40)

    def command(*more):
        only = ["--only", "equal", "chunk_size", "--equal-runs", "4", "--runs", "2"]
        return detection.main([*only, "--out", str(tmp_path), *more]), list(measured)

    return command


def test_runs_of_one_number_are_measured_together_and_none_twice(study, capsys, tmp_path):
    assert study("--minutes", "0") == (0, [])
    both = ("equal", "chunk_size")
    assert study() == (2, [("0", *both), ("1", *both), ("2", "equal")])
    written = (tmp_path / "cccccccccc" / "detection.md").read_text()
    assert "| equal | 2 | – | 0 |" in written and "| chunk size | 2 | 2 | 0 |" in written
    assert study()[1][3:] == [("2", "equal"), ("3", "equal")]
    assert "| equal | 4 |" in capsys.readouterr().out


def test_exact_runs_are_measured_together_where_they_share_a_cell(tmp_path):
    options = detection.arguments(["--exact", "--runs", "1", "--equal-runs", "0"])
    (first, folder), (second, other) = detection.planned(options, str(tmp_path))
    assert first == ["captured_array", "chunk_size", "more_scratch", "retrace"]
    assert second == ["float32_slip"] and Path(other) == tmp_path / "float32_slip" / "0"
    assert Path(folder).parent.name == "captured_array+chunk_size+more_scratch+retrace"
    assert detection.pair_of("f", first, "retrace") == "f/pair/retrace"
    assert detection.pair_of("f", second, "float32_slip") == "f/pair"


def test_an_unknown_regression_and_one_that_is_not_exact_are_refused(capsys):
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
        assert asv_verdict.worse(base, head) == [(TOUCHED, metric) for metric in found]


def test_asv_sees_a_cell_that_fails_and_nothing_in_cells_of_no_suite():
    failed = summary("failed", "settled: RetraceError: traced again: for the same arguments")
    cases = dict.fromkeys([TOUCHED, "casing_preparation/w7x-d3"], summary())
    assert asv_verdict.worse(cases, dict.fromkeys(cases, failed)) == [(TOUCHED, "RetraceError")]


def test_a_folder_that_is_no_pair_is_told(tmp_path, capsys):
    assert asv_verdict.main([str(tmp_path)]) == 2
    assert "is no measured pair" in capsys.readouterr().err
