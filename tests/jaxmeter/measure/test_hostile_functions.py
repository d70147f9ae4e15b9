"""Whatever the measured function does, a record is returned, and the function's processes end."""

import contextlib
import os
import signal
import sys
from pathlib import Path

import pytest

from jaxmeter import BenchmarkCase, Record, run_case
from tests.jaxmeter.measure.hostile_target import ATTACKS
from tests.jaxmeter.measure.test_worker_failures import is_alive

HERE = str(Path(__file__).parent)
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the attacks use /proc")


@pytest.fixture
def attacked(tmp_path):
    """Return a function that measures a hostile target, and checks that it leaves nothing."""
    pids = tmp_path / "pids"
    pids.touch()

    def measure(name, *, timeout_seconds=100.0, **env):
        env["JAXMETER_HOSTILE_PIDS"] = str(pids)
        target = f"hostile_target:{name}"
        limits = {"repeat": 3, "timeout_seconds": timeout_seconds}
        record = run_case(BenchmarkCase("tests/hostile", target, env=env, path=(HERE,), **limits))
        assert (record.name, record.target) == ("tests/hostile", target)
        text = record.to_json()
        assert len(text) < 100_000 and Record.from_json(text) == record
        return record

    yield measure
    left = [pid for pid in map(int, pids.read_text().split()) if is_alive(pid)]
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert not left


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_during_the_import_ends_in_a_record_of_its_failure(name, attacked):
    _, kind, message = ATTACKS[name]
    seconds = 4.0 if kind == "Timeout" or name == "stops_its_parent" else 100.0
    record = attacked(name, timeout_seconds=seconds, JAXMETER_HOSTILE=name)
    failure = record.failure
    assert failure is not None
    assert record.status == ("timeout" if kind == "Timeout" else "failed"), failure
    assert failure.kind.startswith(kind) and message in failure.message
    assert failure.phase == ("start" if kind == "RecordError" else "import")
    assert record.samples_seconds == ()  # nothing forged


def test_threads_and_children_left_behind_do_not_delay_a_good_record(attacked):
    record = attacked("leaves_threads_and_children_and_a_mess")
    assert record.status == "ok" and record.checks == {"answer": 2.0}


def test_a_target_that_forks_has_a_good_record(attacked):
    record = attacked("forks_in_the_setup")
    assert record.status == "ok" and len(record.samples_seconds) == 3


def test_a_late_attack_on_the_meter_is_a_failure_that_keeps_the_earlier_phases(attacked):
    record = attacked("breaks_the_meter_in_its_check")
    assert record.failure is not None and record.status == "failed"
    assert (record.failure.phase, record.failure.kind) == ("check", "Exit")
    assert record.phases.compile_seconds is not None and len(record.samples_seconds) == 3


def test_a_record_that_is_too_long_to_send_is_a_failure_that_names_its_length(attacked):
    record = attacked("returns_a_number_with_an_endless_name")
    assert record.failure is not None and record.failure.phase == "setup"
    assert "answer has 3" in record.failure.output


def test_a_worker_that_cannot_be_started_is_a_failed_record():
    record = run_case(BenchmarkCase("a", "b:c", env={"NAME": "with\0nul"}))
    assert record.failure is not None
    assert "no process could be started" in record.failure.output
    assert record.wall_seconds is None
