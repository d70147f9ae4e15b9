"""A failed worker leads to a record that keeps all earlier measurements."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jaxmeter import Failure, run_case
from jaxmeter._measure.progress import capped


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # The state Z is a zombie: the process has ended, but its parent has not yet waited for it.
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize(
    ("function", "fields", "phase", "kind", "message"),
    [
        ("any", {"module": "no_such_target"}, "import", "ModuleNotFoundError", "no_such_target"),
        ("any", {"module": "broken_target"}, "import", "ModuleNotFoundError", "no_such_module"),
        ("not_callable", {}, "import", "JaxmeterError", "which is 3; name a function"),
        ("raises", {}, "setup", "LookupError", "no such workload"),
        ("wrapped", {"params": {"size": 3, "scale": 2}}, "setup", "TypeError", "6 is not a size"),
        ("raises", {"params": {"x": 1}}, "setup", "JaxmeterError", "takes no arguments; give only"),
        ("raises_what_cannot_be_printed", {}, "setup", "_Unprintable", "its __str__ raised"),
        ("returns_no_case", {}, "setup", "JaxmeterError", r"got 3 from this function; let"),
        ("raises", {"cpus": (99999,)}, "start", "JaxmeterError", r"cpus=\(99999,\).*give only"),
    ],
)
def test_an_exception_of_the_target_is_in_the_record(
    function, fields, phase, kind, message, worked, failure_of
):
    record = worked(function, **fields)
    failure = failure_of(record)
    assert (failure.phase, failure.kind) == (phase, kind)
    assert re.search(message, failure.message)
    assert record.environment is not None


def test_the_record_of_a_worker_that_ends_early_has_its_output(case, failure_of):
    record = run_case(case("leaves_at_once"))
    failure = failure_of(record)
    assert (failure.phase, failure.kind) == ("setup", "Exit")
    assert "exited with code 7 in the phase setup" in failure.message
    assert "about to leave" in failure.output
    assert record.environment is not None and record.wall_seconds is not None


@pytest.mark.parametrize(
    ("function", "phase", "kind"),
    [
        ("raises_in_the_body", "trace", "ZeroDivisionError"),
        ("raises_in_the_check", "check", "ArithmeticError"),
    ],
)
def test_a_late_failure_keeps_the_earlier_measurements(function, phase, kind, worked, failure_of):
    record = worked(function)
    failure = failure_of(record)
    assert (failure.phase, failure.kind) == (phase, kind)
    assert record.setup_seconds is not None
    assert record.counts.python_executions_count == 1
    if phase == "check":
        assert len(record.samples_seconds) == 3
        assert record.phases.first_call_seconds is not None
        assert record.program.hlo_fingerprint is not None


def test_a_compile_of_minutes_is_stopped_and_its_folding_alarm_is_counted(case, failure_of):
    record = run_case(case("folds_for_minutes", timeout_seconds=9.0))
    failure = failure_of(record, "timeout")
    assert (failure.phase, failure.kind) == ("compile", "Timeout")
    assert "the worker was killed in the phase compile after 9 s" in failure.message
    assert record.constants.captured_bytes == record.constants.embedded_bytes == 4 * 1024 * 1024
    assert record.constants.folding_alarms_count == 1
    assert record.phases.lower_seconds is not None and record.phases.compile_seconds is None


@pytest.mark.cpu
def test_a_timeout_while_sampling_keeps_the_samples(case, failure_of):
    record = run_case(case("slow_runs", repeat=10_000, timeout_seconds=7.0))
    failure = failure_of(record, "timeout")
    assert failure.phase == "steady"
    assert len(record.samples_seconds) >= 3
    assert min(record.samples_seconds) >= 0.1


def wait_for_the_end_of(*pids):
    deadline = time.monotonic() + 20
    while any(map(is_alive, pids)):
        assert time.monotonic() < deadline, "a process was not killed"
        time.sleep(0.05)


@pytest.fixture
def interrupted_run(tmp_path, case):
    """Start a process that calls run_case; yield it and the ids of its worker and grandchild."""
    code = (
        "import signal, sys, jaxmeter\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "jaxmeter.run_case(jaxmeter.BenchmarkCase.from_json(sys.argv[1]))\n"
    )
    pids_file = tmp_path / "pids"
    hanging = case("any", module="hanging_target", env={"METER_TEST_PIDS": str(pids_file)})
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", code, hanging.to_json()],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while not pids_file.exists():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    worker, child = map(int, pids_file.read_text().split())
    yield process, worker, child
    for pid in (worker, child):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_an_interrupt_kills_the_worker_and_its_children(interrupted_run):
    process, worker, child = interrupted_run
    process.send_signal(signal.SIGINT)
    process.wait(timeout=60)
    wait_for_the_end_of(worker, child)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a worker outlives its parent")
def test_a_worker_does_not_outlive_a_parent_that_is_killed(interrupted_run):
    process, worker, _ = interrupted_run
    process.kill()
    process.wait(timeout=60)
    wait_for_the_end_of(worker)


@pytest.mark.parametrize("length", [2000, 2001, 2100, 9_990, 10_010])
def test_a_long_message_says_how_many_characters_are_left_out(length):
    kept = capped(Failure("run", "ValueError", "x" * length)).message
    left_out = re.search(r" \.\.\. (\d+) characters left out \.\.\. ", kept)
    assert len(kept) <= 2000 and (left_out is None) == (length <= 2000)
    if left_out is not None:
        assert len(kept) - len(left_out[0]) + int(left_out[1]) == length
