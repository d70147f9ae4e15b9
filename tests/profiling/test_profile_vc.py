"""profile_vc: operations and options, the record, the trace, and one line for bad usage."""

import inspect
import subprocess
import sys
from pathlib import Path

import jax
import pytest

import jaxmeter
import profile_vc
import vcjax

# The smallest sizes do not resolve B.
pytestmark = pytest.mark.filterwarnings("ignore::vcjax.UnresolvedWarning")

SCRIPT = Path(profile_vc.__file__)
USUAL = [
    *("--case", "case_vc", "--op", "B", "--digits", "3", "--jit", "--repeat", "3"),
    *("--chunk-size", "auto", "--target-chunk-size", "auto"),
]


def profiled(tmp_path, *arguments):
    """Run the script, and return its record."""
    path = tmp_path / "record.json"
    assert profile_vc.main([*arguments, "--json", str(path)]) == 0
    return jaxmeter.Record.from_json(path.read_text())


def test_the_record_and_the_trace_are_written_to_the_given_paths(tmp_path, capsys):
    traces = tmp_path / "traces"
    record = profiled(tmp_path, *USUAL, "--trace-dir", str(traces))
    printed = capsys.readouterr().out
    rows = ("trace", "lower", "compile", "first call", "median of 3", "captured", "temporaries")
    assert all(row in printed for row in rows)
    assert str(tmp_path / "record.json") in printed and "tensorboard --logdir" in printed
    assert record.status == "ok" and len(record.samples_seconds) == 3
    assert record.phases.compile_seconds is not None and record.phases.compile_seconds > 0
    assert record.constants.captured_bytes == 0
    assert record.memory.temp_bytes is not None and record.memory.temp_bytes > 0
    assert record.params["workload"] == "case_vc" and record.params["chunk_size"] == "auto"
    (path,) = (traces / "plugins" / "profile").glob("*/*.xplane.pb")
    data = jax.profiler.ProfileData.from_file(str(path))
    names = [e.name for plane in data.planes for line in plane.lines for e in line.events]
    assert sum(name == "vcjax profile/case_vc-B" for name in names) == 3


ARGUMENTS = {
    "B": ["--chunk-size", "8", "--target-chunk-size", "4", "--far-dtype", "float32"],
    "B_int": ["--near-weights", "streamed", "--near-block-size", "4"],
    "GradB": ["--near-weights", "float32", "--near-block-size", "2"],
    "BOFF": ["--points", "5", "--distance", "0.2", "--chunk-size", "8"],
    "GradBOFF": ["--points", "3", "--distance", "0.3"],
    "GradX": ["--chunk-size", "16", "--no-half-period"],
}


@pytest.mark.parametrize("op", profile_vc.OPERATIONS)
def test_every_operation_runs_with_its_options_and_checks_its_result(op, tmp_path, capsys):
    arguments = ARGUMENTS[op]
    record = profiled(tmp_path, "--op", op, "--repeat", "1", "--digits", "3", *arguments)
    assert record.phases.compile_seconds is None and len(record.samples_seconds) == 1
    assert "lower" not in capsys.readouterr().out  # not jitted: there are no phases
    assert record.checks["modes_error_relative" if op == "GradX" else "error_relative"] < 1
    assert record.params["op"] == op
    for option, value in zip(arguments[::2], arguments[1::2], strict=False):
        name = "point_count" if option == "--points" else option[2:].replace("-", "_")
        assert str(record.params[name]) == value
    assert "choose_seconds" in record.extras


def test_every_option_of_the_operations_in_vcjax_can_be_given():
    known = set(vars(profile_vc.parse([])))
    given_by_the_case = {"rule", "X", "constants", "casing", "B", "points"}
    for operation in profile_vc.OPERATIONS.values():
        for function in (operation.prepare, operation.evaluate):
            assert set(inspect.signature(function).parameters) <= known | given_by_the_case
    evaluated = {operation.evaluate for operation in profile_vc.OPERATIONS.values()}
    assert {vcjax.external_field, vcjax.external_gradient, vcjax.gradient_at} <= evaluated


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--case", "case_cv"], "--case: invalid choice: 'case_cv' (choose from"),
        (["--op", "gradC"], "--op: invalid choice: 'gradC' (choose from"),
        (["--op", "GradB", "--far-dtype", "auto"], "got auto, but the operation GradB has no such"),
        (["--points", "3"], "--points: got 3, but the operation B has no such option"),
        (["--chunk-size", "0"], 'give "auto" or a whole number, 1 or more'),
        (["--target-chunk-size", "some"], 'give "auto" or a whole number, 1 or more'),
        (["--repeat", "0"], "give a whole number, 1 or more"),
        (["--json", str(SCRIPT.parent)], "is a folder; give a file"),
        (["--trace-dir", str(SCRIPT)], "a file; give a folder"),
        (["--digits", "99"], "99"),
        (["--half-period"], "half_period"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_bad_usage_is_one_line_and_exit_code_2(arguments, message, capsys):
    assert profile_vc.main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in printed.err and printed.err.count("\n") == 1


@pytest.mark.cpu
def test_the_script_runs_by_path_from_anywhere_on_several_devices(tmp_path):
    options = ["--devices", "2", "--digits", "3", "--repeat", "1", "--json", "record.json"]
    command = [sys.executable, str(SCRIPT), *options]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    record = jaxmeter.Record.from_json((tmp_path / "record.json").read_text())
    assert record.params["devices"] == 2
    assert record.environment is not None and record.environment.device_count == 2
