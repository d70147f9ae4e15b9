"""A worker measures one cell cold; whatever goes wrong comes back as a record."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import pytest

import jaxmeter
from jaxmeter import Cell, Record, run_cell

HERE = str(Path(__file__).parent)
JAX_VERSION = tuple(int(part) for part in jax.__version__.split(".")[:2])


def cell(function, *, module="meter_targets", **fields):
    fields = {"repeat": 3, "timeout_seconds": 100.0, "path": (HERE,)} | fields
    return Cell(f"tests/{function}", f"{module}:{function}", **fields)


def failure_of(record, status="failed"):
    assert record.status == status, record.failure
    assert record.failure is not None
    assert Record.from_json(record.to_json()).failure == record.failure
    return record.failure


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A zombie is dead; whoever adopted it has not looked yet.
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.fixture(scope="module")
def closure_record():
    return run_cell(cell("matrix", params={"size": 40}))


def test_a_good_cell_comes_back_measured(closure_record):
    record = closure_record
    assert (record.status, record.failure) == ("ok", None)
    assert (record.name, record.target) == ("tests/matrix", "meter_targets:matrix")
    assert record.params == {"size": 40}
    assert record.counts == jaxmeter.Counts(1, 1, 1, 0)
    assert len(record.samples_seconds) == 3
    assert all(seconds > 0 for seconds in record.samples_seconds)
    assert None not in (record.setup_seconds, record.phases.compile_seconds, record.wall_seconds)
    assert record.constants.captured_bytes == record.constants.embedded_bytes == 40 * 40 * 8
    assert record.constants.folding_alarms_count == 0
    assert record.environment is not None
    assert record.environment.jax == jax.__version__
    assert record.environment.jax_options["jax_enable_compilation_cache"] is False


def test_not_a_number_comes_back_from_a_check(closure_record):
    assert closure_record.checks["sum"] != 0.0
    assert closure_record.checks["not_a_number"] != closure_record.checks["not_a_number"]
    Record.from_json(closure_record.to_json())


def test_the_argument_variant_captures_nothing_in_its_own_process():
    record = run_cell(cell("matrix", params={"size": 40, "variant": "argument"}))
    assert record.status == "ok"
    assert record.constants.captured_bytes == record.constants.embedded_bytes == 0


def test_the_fingerprint_is_the_same_in_every_process(closure_record):
    again = run_cell(cell("matrix", params={"size": 40}))
    assert again.program == closure_record.program
    assert again.program.hlo_fingerprint is not None


@pytest.mark.skipif(JAX_VERSION < (0, 8), reason="JAX 0.7 fails to lower in simplified mode")
def test_simplified_constants_show_as_hidden_arguments():
    env = {"JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS": "1"}
    record = run_cell(cell("matrix", params={"size": 40}, env=env))
    assert record.status == "ok"
    assert record.constants.captured_bytes == record.constants.hidden_argument_bytes == 12800
    assert record.constants.embedded_bytes == 0
    assert record.environment is not None
    assert record.environment.jax_options["jax_use_simplified_jaxpr_constants"] is True


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system binds no process")
def test_environment_affinity_and_path_are_those_of_the_cell(monkeypatch, capfd):
    monkeypatch.chdir(HERE)
    cpu = min(os.sched_getaffinity(0))
    record = run_cell(
        cell(
            "talkative",
            params={"environment_name": "METER_TEST"},
            cpus=(cpu,),
            env={"METER_TEST": "2.5"},
        )
    )
    assert record.status == "ok", record.failure
    # The folder is on the path once, by the cell's wish.
    assert record.extras == {"cpus_count": 1.0, "value": 2.5, "current_directory_on_path": 1.0}
    assert record.environment is not None and record.environment.cpus_available == 1
    assert capfd.readouterr() == ("", "")  # what the target printed stays in the worker


def test_the_current_directory_is_not_on_the_path(monkeypatch):
    monkeypatch.chdir(HERE)
    failure = failure_of(run_cell(cell("raises", path=())))
    assert (failure.phase, failure.kind) == ("import", "ModuleNotFoundError")


def test_a_hit_in_the_persistent_cache_is_rejected(tmp_path):
    env = {
        "JAX_ENABLE_COMPILATION_CACHE": "true",
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    first, second = (run_cell(cell("matrix", params={"size": 5}, env=env)) for _ in range(2))
    assert first.status == "ok"
    assert (first.counts.compiles_count, first.counts.cache_hits_count) == (1, 0)
    failure = failure_of(second, "rejected")
    assert (failure.phase, failure.kind) == ("compile", "CacheHit")
    assert (second.counts.compiles_count, second.counts.cache_hits_count) == (0, 1)


def test_a_function_that_was_compiled_before_is_rejected():
    failure = failure_of(run_cell(cell("called_before_measured")), "rejected")
    assert (failure.phase, failure.kind) == ("compile", "AlreadyCompiled")


@pytest.mark.parametrize(
    ("function", "fields", "phase", "kind", "message"),
    [
        ("any", {"module": "no_such_target"}, "import", "ModuleNotFoundError", "no_such_target"),
        ("any", {"module": "broken_target"}, "import", "ModuleNotFoundError", "no_such_module"),
        ("no_such", {}, "import", "JaxmeterError", "has no no_such; name a function"),
        ("not_callable", {}, "import", "JaxmeterError", "which is a int; name a function"),
        ("raises", {}, "setup", "LookupError", "no such workload"),
        ("raises", {"params": {"x": 1}}, "setup", "TypeError", "unexpected keyword argument 'x'"),
        ("raises_what_cannot_be_printed", {}, "setup", "_Unprintable", "its __str__ raised"),
        ("exits", {}, "setup", "SystemExit", "gave up"),
        ("returns_no_case", {}, "setup", "JaxmeterError", r"got a int from it; let it return"),
        ("leaves_at_once", {}, "setup", "Exit", "left with exit code 7 in setup"),
        ("crashes", {}, "setup", "Signal", "died of SIGSEGV in setup"),
        ("raises", {"cpus": (99999,)}, "start", "JaxmeterError", r"cpus=\(99999,\).*give some of"),
    ],
)
def test_what_goes_wrong_is_told(function, fields, phase, kind, message):
    record = run_cell(cell(function, **fields))
    failure = failure_of(record)
    assert (failure.phase, failure.kind) == (phase, kind)
    assert re.search(message, failure.message)
    assert record.environment is not None and record.wall_seconds is not None


def test_a_failure_has_its_traceback_and_what_was_printed():
    assert "raise LookupError" in failure_of(run_cell(cell("raises"))).traceback
    assert "about to leave" in failure_of(run_cell(cell("leaves_at_once"))).output


@pytest.mark.parametrize(
    ("function", "phase", "kind"),
    [
        ("raises_in_the_body", "trace", "ZeroDivisionError"),
        ("raises_in_the_check", "check", "ArithmeticError"),
    ],
)
def test_a_late_failure_keeps_what_was_measured_before(function, phase, kind):
    record = run_cell(cell(function))
    failure = failure_of(record)
    assert (failure.phase, failure.kind) == (phase, kind)
    assert record.setup_seconds is not None
    assert record.counts.python_executions_count == 1
    if phase == "check":
        assert len(record.samples_seconds) == 3
        assert record.phases.first_call_seconds is not None
        assert record.program.hlo_fingerprint is not None


def test_a_compile_that_takes_for_ever_is_stopped_and_told_with_its_folding_alarms():
    record = run_cell(cell("folds_for_minutes", timeout_seconds=12.0))
    failure = failure_of(record, "timeout")
    assert (failure.phase, failure.kind) == ("compile", "Timeout")
    assert "was in compile after 12 s" in failure.message
    assert record.constants.captured_bytes == record.constants.embedded_bytes == 4 * 1024 * 1024
    assert record.constants.folding_alarms_count == 1
    assert record.phases.lower_seconds is not None and record.phases.compile_seconds is None


def test_a_timeout_while_sampling_keeps_the_samples():
    record = run_cell(cell("slow_runs", repeat=10_000, timeout_seconds=9.0))
    failure = failure_of(record, "timeout")
    assert failure.phase == "settled"
    assert len(record.samples_seconds) >= 3
    assert min(record.samples_seconds) >= 0.1


def hanging_cell(pids_file, **fields):
    env = {"METER_TEST_PIDS": str(pids_file)}
    return cell("any", module="hanging_target", env=env, **fields)


def wait_for_the_end_of(*pids):
    deadline = time.monotonic() + 20
    while any(map(is_alive, pids)):
        assert time.monotonic() < deadline, "a process was not killed"
        time.sleep(0.05)


def test_a_timeout_kills_the_worker_and_its_children(tmp_path):
    record = run_cell(hanging_cell(tmp_path / "pids", timeout_seconds=4.0))
    assert failure_of(record, "timeout").phase == "import"
    wait_for_the_end_of(*map(int, (tmp_path / "pids").read_text().split()))


@pytest.fixture
def interrupted_run(tmp_path):
    """A process inside run_cell, and the numbers of its worker and of the worker's child."""
    code = (
        "import signal, sys, jaxmeter\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "jaxmeter.run_cell(jaxmeter.Cell.from_json(sys.argv[1]))\n"
    )
    pids_file = tmp_path / "pids"
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", code, hanging_cell(pids_file).to_json()],
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


def run_worker(text, *options):
    return subprocess.run(
        [sys.executable, "-P", "-m", "jaxmeter.worker", *options],
        input=text,
        capture_output=True,
        text=True,
        timeout=100,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "METER_TEST": "1"},
    )


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": "a", "target": "b"}'])
def test_bad_json_for_a_cell_is_told_in_a_record(text):
    done = run_worker(text)
    assert done.returncode == 0
    failure = failure_of(Record.from_json(done.stdout))
    assert (failure.phase, failure.kind) == ("start", "JaxmeterError")
    assert "Cell" in failure.message


def test_a_cell_file_that_is_not_there_is_told_in_a_record(tmp_path):
    record_file = tmp_path / "record.json"
    done = run_worker("", "--cell", str(tmp_path / "absent"), "--record", str(record_file))
    assert (done.returncode, done.stdout) == (0, "")
    assert failure_of(Record.from_json(record_file.read_text())).kind == "FileNotFoundError"


def test_the_record_on_standard_output_does_not_mix_with_what_the_target_prints():
    done = run_worker(cell("talkative", params={"environment_name": "METER_TEST"}).to_json())
    assert Record.from_json(done.stdout).status == "ok"
    assert json.loads(done.stdout)["name"] == "tests/talkative"
    for text in ("to standard output", "past Python's buffer", "to standard error"):
        assert text in done.stderr


def test_importing_jaxmeter_imports_no_jax():
    code = "import sys, jaxmeter; assert 'jax' not in sys.modules and 'numpy' not in sys.modules"
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-P", "-c", code], env=env, check=True, timeout=60)
