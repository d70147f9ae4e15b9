"""A record comes back whatever the measured function does, and its processes are ended."""

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

# After these attacks the worker cannot report `GaveUp`.
SIGNALS = {
    "writes_a_forged_record_and_dies": "SIGKILL",
    "aborts": "SIGABRT",
    "reads_from_address_0": "SIGSEGV",
    "dies_of_a_real_time_signal": "signal 37",
    "kills_its_process_group": "SIGKILL",
    "kills_its_parent": "SIGKILL",
}
EXITS = {
    "leaves_with_code_255": 255,
    **dict.fromkeys(
        (
            *("writes_three_million_brackets", "writes_a_forged_record", "writes_no_text"),
            *("writes_a_record_of_wrong_types", "prints_a_forged_record"),
            *("forks_and_the_parent_leaves", "leaves_with_code_0"),
        ),
        0,
    ),
    **dict.fromkeys(
        (
            *("may_open_no_file", "may_write_no_file"),
            *("breaks_json", "breaks_msgspec", "breaks_dataclasses", "breaks_the_builtins"),
        ),
        1,
    ),
}
SLOW = ("stops_itself", "ignores_every_signal", "sleeps_beyond_its_time")
RAISED = {
    "replaces_json": "RecordError",
    "raises_with_a_message_of_ten_megabytes": "RuntimeError",
    "raises_with_half_a_surrogate_pair": "RuntimeError",
    "raises_an_exception_with_an_endless_name": "E",
    "raises_an_exception_without_a_text": "Silent",
    "raises_an_exception_with_a_name_that_is_no_text": "(an exception class of unknown name)",
    "raises_a_group_of_ten_thousand": "ExceptionGroup",
    "raises_from_a_long_chain": "ValueError",
    "raises_from_deep_recursion": "RecursionError",
    "raises_system_exit": "SystemExit",
    "raises_keyboard_interrupt": "KeyboardInterrupt",
    "raises_generator_exit": "GeneratorExit",
    "exceeds_its_memory": "MemoryError",
    "exceeds_its_memory_while_it_fails": "MemoryError",
}


@pytest.fixture
def attacked(tmp_path):
    """Return a function that measures a hostile target, and checks that it leaves nothing."""
    pids = tmp_path / "pids"
    pids.touch()

    def measure(name, *, timeout_seconds=100.0, **env):
        env["JAXMETER_HOSTILE_PIDS"] = str(pids)
        record = run_case(
            BenchmarkCase(
                "tests/hostile",
                f"hostile_target:{name}",
                repeat=3,
                timeout_seconds=timeout_seconds,
                env=env,
                path=(HERE,),
            )
        )
        assert (record.name, record.target) == ("tests/hostile", f"hostile_target:{name}")
        text = record.to_json()
        assert len(text) < 100_000 and Record.from_json(text) == record
        return record

    yield measure
    left = [pid for pid in map(int, pids.read_text().split()) if is_alive(pid)]
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert not left


def expected(name):
    """Return status, kind and a part of the message of an attack's failure."""
    if name in SIGNALS:
        return "failed", "Signal", f"was ended by {SIGNALS[name]} in the phase import"
    if name in EXITS:
        return "failed", "Exit", f"exited with code {EXITS[name]} in the phase import"
    if name in SLOW:
        return "timeout", "Timeout", "killed in"
    return "failed", RAISED.get(name, "GaveUp"), ""


def test_every_expected_failure_belongs_to_an_attack():
    assert {*SIGNALS, *EXITS, *SLOW, *RAISED} <= set(ATTACKS)


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_during_the_import_ends_in_a_record_of_its_failure(name, attacked):
    seconds = 5.0 if name in SLOW or name == "stops_its_parent" else 100.0
    record = attacked(name, timeout_seconds=seconds, JAXMETER_HOSTILE=name)
    failure = record.failure
    status, kind, message = expected(name)
    assert failure is not None and record.status == status, failure
    assert failure.kind.startswith(kind) and message in failure.message
    assert record.samples_seconds == ()  # nothing forged


def test_threads_and_children_left_behind_do_not_delay_a_good_record(attacked):
    record = attacked("leaves_threads_and_children_and_a_mess")
    assert record.status == "ok" and record.checks == {"answer": 2.0}


def test_the_child_of_a_target_that_forks_sends_no_record(attacked):
    record = attacked("forks_in_the_setup")
    assert record.status == "ok" and len(record.samples_seconds) == 3


def test_a_late_attack_on_the_meter_keeps_the_phases_before_it_and_is_no_success(attacked):
    record = attacked("breaks_the_meter_in_its_check")
    assert record.failure is not None and record.status == "failed"
    assert (record.failure.phase, record.failure.kind) == ("check", "Exit")
    assert record.phases.compile_seconds is not None and len(record.samples_seconds) == 3


def test_a_record_too_long_to_send_is_a_failure_that_says_so(attacked):
    record = attacked("returns_a_number_with_an_endless_name")
    assert record.failure is not None and record.failure.phase == "setup"
    assert "answer has 3" in record.failure.output


def test_a_worker_that_cannot_be_started_is_a_record():
    record = run_case(BenchmarkCase("a", "b:c", env={"NAME": "with\0nul"}))
    assert record.failure is not None
    assert "no process could be started" in record.failure.output
    assert record.wall_seconds is None
