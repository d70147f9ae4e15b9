"""profile_vc: the table, the record, the trace, and one clear line for what cannot be run."""

import subprocess
import sys
from pathlib import Path

import jax
import pytest

import jaxmeter
import profile_vc

SCRIPT = Path(profile_vc.__file__)
USUAL = [
    *("--case", "case_vc", "--op", "B", "--jit", "--repeat", "3"),
    *("--chunk-size", "auto", "--target-chunk-size", "auto"),
]


def test_phases_and_steady_times_are_printed_and_recorded(tmp_path, capsys):
    path = tmp_path / "record.json"
    assert profile_vc.main([*USUAL, "--json", str(path)]) == 0
    printed = capsys.readouterr().out
    for row in ("trace", "lower", "compile", "first call", "steady-state median of 3", "error"):
        assert row in printed
    record = jaxmeter.Record.from_json(path.read_text())
    assert record.status == "ok" and len(record.samples_seconds) == 3
    assert record.phases.compile_seconds is not None and record.phases.compile_seconds > 0
    assert record.params["workload"] == "case_vc" and record.params["chunk_size"] == "auto"
    assert record.checks["error_relative"] < 1
    assert str(path) in printed


def test_the_trace_is_where_tensorboard_looks_and_holds_the_evaluations(tmp_path):
    traces, record = tmp_path / "traces", tmp_path / "record.json"
    assert profile_vc.main([*USUAL, "--json", str(record), "--trace-dir", str(traces)]) == 0
    (path,) = (traces / "plugins" / "profile").glob("*/*.xplane.pb")
    data = jax.profiler.ProfileData.from_file(str(path))
    names = [e.name for plane in data.planes for line in plane.lines for e in line.events]
    assert sum(name == "vcjax profile/case_vc-B" for name in names) == 3


@pytest.mark.parametrize("op", ["B", "B_int"])
def test_without_jit_calls_are_timed_and_phases_left_out(op, tmp_path, capsys):
    path = tmp_path / "record.json"
    assert profile_vc.main(["--op", op, "--repeat", "1", "--json", str(path)]) == 0
    record = jaxmeter.Record.from_json(path.read_text())
    assert record.phases.compile_seconds is None and len(record.samples_seconds) == 1
    assert "lower" not in capsys.readouterr().out
    assert record.checks["error_relative"] < 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--case", "case_cv"], "no such case; give one of case_vc"),
        (["--op", "gradC"], "no such operation; give B or B_int"),
        (["--chunk-size", "0"], 'give "auto" or a number of at least 1'),
        (["--target-chunk-size", "some"], 'give "auto" or a number of at least 1'),
        (["--repeat", "0"], "give at least 1"),
        (["--json", str(SCRIPT.parent)], "that is a folder; give a file"),
        (["--trace-dir", str(SCRIPT)], "that is a file; give a folder"),
        (["--digits", "99"], "99"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_what_cannot_be_run_is_one_line_and_exit_code_2(arguments, message, capsys):
    assert profile_vc.main(arguments) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert message in told.err and told.err.count("\n") == 1
    assert "Traceback" not in told.err


def test_the_script_runs_by_path_from_anywhere(tmp_path):
    command = [sys.executable, str(SCRIPT), *USUAL, "--json", "record.json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "record.json").is_file()
