"""The detection study: found regressions, false alarms, measured runs, and asv's findings."""

import json
import os
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks.measuring import pair
from benchmarks.measuring.pair import chosen_cases
from benchmarks.summary import Summary
from jaxmeter import LockChange, LockCheck
from reports.quantities import KNOWN
from studies.__main__ import main
from studies.detection import lock, study
from studies.detection.findings import (
    EQUAL,
    INJECTED,
    asv_regressed,
    asv_regressions,
    false_alarms,
    found_in,
    markdown,
    run_row,
)
from studies.harness import ROOT, StudyError, measured, read_rows, write_rows

TOUCHED, GRADIENT = "casing_variants/w7x-argument-d3", "memory_sweep/gradient-cauto-tauto"


def review(*found, broken=(), verdict="regression"):
    findings = [{"case": c, "metric": m, "verdict": verdict} for c, m in found]
    lost = [{"case": c, "is_regression": True, "failure_kind": kind} for c, kind in broken]
    about = {"tested_count": 6, "environment": "a machine, JAX 1", "verdict": "a sentence"}
    return {"findings": findings, "not_compared": lost, **about}


def test_every_regression_is_described_and_each_exact_regression_has_a_case():
    assert set(INJECTED) == {path.stem for path in pair.INJECTED.glob("[a-z]*.py")}
    assert chosen_cases([str(INJECTED[name].exact_case) for name in study.EXACT], 1)


@pytest.mark.parametrize(
    ("case", "metric", "verdict", "found"),
    [
        (TOUCHED, "temp_bytes", "regression", [TOUCHED]),
        (TOUCHED, "temp_bytes", "improvement", []),
        (GRADIENT, "temp_bytes", "regression", []),
        (TOUCHED, "trace_lower_compile_seconds", "regression", []),
    ],
)
def test_a_regression_is_found_by_its_own_metric_in_cases_that_it_touches(
    case, metric, verdict, found
):
    assert found_in("more_temporaries", [(case, metric, verdict)]) == found
    assert found_in("none", [(case, metric, verdict)]) == []


def test_a_failed_case_finds_the_regression_only_with_the_error_of_the_regression():
    for kind, found in (("RetraceError", TOUCHED), ("Timeout", "")):
        row = run_row("retrace", review(broken=[(TOUCHED, kind)]), [])
        assert (row["found_in"], row["asv_found_in"]) == (found, "")


def test_every_finding_of_an_a_a_test_is_a_false_alarm():
    for verdict in ("regression", "improvement", "changed"):
        row = run_row("none", review((TOUCHED, "flops"), (GRADIENT, "x"), verdict=verdict), [])
        assert row["false_alarms"] == f"{TOUCHED} flops {verdict}; {GRADIENT} x {verdict}"
    row = run_row("none", review(), [(TOUCHED, "x")])
    assert row["asv_false_alarms"] == f"{TOUCHED} x regression"


def test_a_finding_that_the_regression_cannot_explain_is_a_false_alarm():
    found = [
        (TOUCHED, "trace_lower_compile_seconds", "regression"),
        (TOUCHED, "steady_median_seconds", "improvement"),
    ]
    assert false_alarms("slower_run", found) == ""  # it changes the program
    assert false_alarms("slower_compile", found) == f"{TOUCHED} steady_median_seconds improvement"
    untouched = [("casing_preparation/w7x-d3", "flops", "changed")]
    assert false_alarms("slower_run", untouched) == "casing_preparation/w7x-d3 flops changed"


def test_the_table_counts_runs_and_lists_every_false_alarm(tmp_path):
    slow = review((TOUCHED, "steady_median_seconds"))
    runs = [
        run_row("none", review((TOUCHED, "flops")), []),
        run_row("none", review(), [(TOUCHED, "x"), (GRADIENT, "x")]),
        run_row("slower_run", slow, [(TOUCHED, "steady_median_seconds")]),
        run_row("slower_run", slow, []),
    ]
    lines = markdown(runs).splitlines()
    assert lines[2:4] == [
        "| nothing (A/A test) | 2 | – | 1 | – | 1 |",
        "| `slower_run` | 2 | 2 | 0 | 1 | 0 |",
    ]
    assert lines[5:] == [
        f"- nothing (A/A test), run 0: {TOUCHED} flops regression",
        f"- asv, nothing (A/A test), run 1: {TOUCHED} x regression; {GRADIENT} x regression",
    ]
    write_rows(tmp_path / "kept.csv", runs)
    assert markdown(read_rows(tmp_path / "kept.csv")) == markdown(runs)


@pytest.mark.parametrize("kept", ["exact", "times", "times_while_choosing"])
def test_the_committed_runs_have_one_environment_and_alarms_of_the_current_rules(kept):
    rows = read_rows(measured("detection", f"{kept}.csv"))
    assert len({row["environment"] for row in rows}) == 1
    assert {row["injected"] for row in rows} <= {"none", *INJECTED}
    for row in rows:
        alarms = f"{row['false_alarms']}; {row['asv_false_alarms']}".split("; ")
        for alarm in filter(None, alarms):
            case, metric, verdict = alarm.rsplit(" ", 2)
            assert metric in {one.name for one in KNOWN}
            assert false_alarms(row["injected"], [(case, metric, verdict)]) == alarm


@pytest.fixture
def command(monkeypatch, tmp_path):
    """Return a function that runs the command without measuring.

    The function returns the exit code and the measured runs. The third measurement fails.
    """
    measured = []

    def measure(commit, names, folder, options):
        measured.append((folder.name, *names))
        if len(measured) == 3:
            raise StudyError(f"{folder} could not be measured")

    def judge(pair, folder):
        found = review((TOUCHED, "temp_bytes")) if folder.name == "chunk_size" else review()
        (folder / "page").mkdir(parents=True, exist_ok=True)
        (folder / "page" / "review.json").write_text(json.dumps(found))
        (folder / "asv.json").write_text("[]")

    monkeypatch.setattr(study, "measure", measure)
    monkeypatch.setattr(study, "judge", judge)
    monkeypatch.setattr(study, "commit_named", lambda name: "c" * 40)

    def run(*more):
        only = ["--only", "none", "chunk_size", "--equal-runs", "4", "--runs", "2"]
        return main(["detection", *only, "--out", str(tmp_path), *more]), list(measured)

    return run


def test_runs_of_one_number_are_measured_together_and_none_twice(command, capsys, tmp_path):
    assert command("--minutes", "0") == (0, [])
    both = ("none", "chunk_size")
    assert command() == (2, [("0", *both), ("1", *both), ("2", "none")])
    written = (tmp_path / "cccccccccc" / "detection.md").read_text()
    assert "| nothing (A/A test) | 2 | – | 0 |" in written
    assert "| `chunk_size` | 2 | 2 | 0 |" in written
    assert command()[1][3:] == [("2", "none"), ("3", "none")]
    assert "| nothing (A/A test) | 4 |" in capsys.readouterr().out


def test_all_measured_runs_are_judged_again_even_if_a_run_is_missing(command, tmp_path):
    command()
    pages = sorted(tmp_path.rglob("review.json"))
    assert len(pages) == 4
    pages[0].unlink()
    for page in pages[1:]:
        page.write_text("before")
    assert command("--minutes", "0", "--judge-again")[0] == 0
    assert not pages[0].exists() and all(page.read_text() != "before" for page in pages[1:])


def test_exact_runs_are_measured_together_if_they_share_a_case(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(study, "measure", lambda commit, names, folder, options: None)
    monkeypatch.setattr(study, "judge", lambda pair, folder: seen.append((pair, folder)))
    command = ["detection", "--exact", "--runs", "1", "--equal-runs", "0", "--out", str(tmp_path)]
    assert main(command) == 0
    (out,) = tmp_path.iterdir()
    names = ["captured_array", "chunk_size", "more_temporaries", "retrace"]
    shared, alone = out / "+".join(names) / "0", out / "float32_slip" / "0"
    together = [(shared / "pair" / name, shared / name) for name in names]
    assert seen == [*together, (alone / "pair", alone / "float32_slip")]


@pytest.mark.parametrize("arguments", [["--only", "nothing"], ["--exact", "--only", "slower_run"]])
def test_an_unknown_regression_and_a_regression_that_needs_times_are_refused(arguments, capsys):
    assert main(["detection", *arguments]) == 2
    assert "give one or more of none, captured_array" in capsys.readouterr().err


def summary(status="ok", message="", *, times=(), **numbers):
    measured = {"trace_lower_compile_seconds": list(times)}
    return Summary(status=status, message=message, times=measured, numbers=numbers)


def test_asv_reports_numbers_that_grow_by_a_tenth_and_times_whose_processes_agree():
    steady, slower, noisy = (1.0, 1.01, 0.99) * 3, (1.3, 1.31, 1.29) * 3, (0.9, 1.4, 0.8) * 3
    base = {TOUCHED: summary(times=steady, temp_bytes=100)}
    for times, temp, found in [
        (slower, 100, ["trace_lower_compile_seconds"]),
        (noisy, 105, []),
        (steady, 112, ["temp_bytes"]),
    ]:
        head = {TOUCHED: summary(times=times, temp_bytes=temp)}
        assert asv_regressed(base, head) == [(TOUCHED, metric) for metric in found]


def test_asv_judges_no_time_of_a_single_process():
    base, head = ({TOUCHED: summary(times=[t], temp_bytes=100)} for t in (1.0, 1.5))
    assert asv_regressed(base, head) == asv_regressed(head, base) == []


def test_asv_reports_a_failed_case_of_a_suite_and_ignores_other_cases():
    failed = summary("failed", "steady: RetraceError: traced again: for the same arguments")
    cases = dict.fromkeys([TOUCHED, "casing_preparation/w7x-d3"], summary())
    assert asv_regressed(cases, dict.fromkeys(cases, failed)) == [(TOUCHED, "RetraceError")]


def test_a_folder_that_is_no_pair_is_refused(tmp_path):
    with pytest.raises(StudyError, match="is not a measured pair"):
        asv_regressions(tmp_path)


@pytest.mark.parametrize("version", ["0.10.2", "0.12.0"])
def test_the_lock_file_found_every_exact_regression_and_passed_every_equal_package(version):
    rows = [row for row in read_rows(measured("detection", "lock.csv")) if row["jax"] == version]
    found = {row["injected"]: row for row in rows if row["injected"] != EQUAL}
    assert set(found) == set(study.EXACT)
    assert all(row["differing"] == row["checks"] == "1" for row in found.values())
    assert "captured_bytes" in found["captured_array"]["quantities"]
    assert "temp_bytes" in found["more_temporaries"]["quantities"]
    assert found["retrace"]["quantities"] == "compiles, traces"
    equal = [row for row in rows if row["injected"] == EQUAL]
    assert sum(int(row["checks"]) for row in equal) >= 100
    assert {row["differing"] for row in equal} == {"0"}


def test_a_check_of_the_lock_file_is_a_row_of_regressed_quantities(monkeypatch):
    """Run the command in a folder with the changed package and the project's lock file."""
    seen = []

    def stand_in(command, *, cwd, **options):
        seen.append((Path(cwd, "vcjax", "_injected.py").exists(), sorted(os.listdir(cwd))))
        change = LockChange("m:f", "traces", 1, 3, "regression")
        text = LockCheck("jax 1", {"m:f": {"traces": 3}}, (change,)).to_json()
        return SimpleNamespace(returncode=1, stdout=text, stderr="")

    monkeypatch.setattr(lock.subprocess, "run", stand_in)
    row = lock.injected_row("1.0", "retrace")
    assert (row["differing"], row["quantities"]) == (1, "traces")
    assert seen == [(True, ["jaxmeter.lock.toml", "pyproject.toml", "vcjax"])]


def test_the_lock_file_has_the_functions_of_the_settings_and_no_others():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["jaxmeter"]["lock"]
    sections = tomllib.loads((ROOT / "jaxmeter.lock.toml").read_text())
    locked = [{name for name in one if "::" not in name} for one in sections.values()]
    assert set(settings["functions"]) in locked
    assert all(names in (set(), set(settings["functions"])) for names in locked)
