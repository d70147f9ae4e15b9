"""A worker measures a case in a fresh process, and rejects a program that was compiled before."""

import math
import os
import platform
import subprocess
import sys
from pathlib import Path

import jax
import pytest

import jaxmeter
from jaxmeter import host_environment, run_case

TARGETS = str(Path(__file__).parents[1])


@pytest.fixture(scope="module")
def closure_record(case):
    return run_case(case("matrix", params={"size": 40}, profile_compile=True))


def test_the_record_of_a_successful_case_has_its_measurements(closure_record):
    record = closure_record
    assert (record.status, record.failure) == ("ok", None)
    assert (record.name, record.target) == ("tests/matrix", "meter_targets:matrix")
    assert record.params == {"size": 40}
    assert record.counts == jaxmeter.Counts(1, 1, 1, 0)
    assert len(record.samples_seconds) == 3
    assert all(seconds > 0 for seconds in record.samples_seconds)
    assert None not in (record.setup_seconds, record.phases.compile_seconds, record.wall_seconds)
    assert record.checks["sum"] != 0.0 and math.isnan(record.checks["not_a_number"])
    assert record.constants.captured_bytes == record.constants.embedded_bytes == 40 * 40 * 8
    assert record.constants.folding_alarms_count == 0
    assert record.environment is not None
    assert record.environment.jax == jax.__version__
    assert record.environment.jax_options["jax_enable_compilation_cache"] is False


def test_a_worker_can_profile_the_compile_and_names_files_relative_to_the_path(closure_record):
    profile = closure_record.compile_summary
    seconds = [line.seconds for line in profile.lines]
    assert seconds == sorted(seconds, reverse=True)
    assert 0 < sum(seconds) <= profile.seconds
    assert {line.source.rpartition(":")[0] for line in profile.lines} == {"meter_targets.py"}


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system binds no process")
def test_the_worker_has_the_environment_affinity_and_path_of_its_case(monkeypatch, capfd, case):
    monkeypatch.chdir(TARGETS)
    cpu = min(os.sched_getaffinity(0))
    record = run_case(
        case(
            "talkative",
            params={"environment_name": "METER_TEST"},
            cpus=(cpu,),
            env={"METER_TEST": "2.5"},
        )
    )
    assert record.status == "ok", record.failure
    # The current directory is on the path because the case names it.
    assert record.extras == {"cpus_count": 1.0, "value": 2.5, "current_directory_on_path": 1.0}
    assert record.environment is not None and record.environment.cpus_available == 1
    assert capfd.readouterr() == ("", "")  # the output of the target is not passed on


def test_the_current_directory_is_not_on_the_path(monkeypatch, case, failure_of):
    monkeypatch.chdir(TARGETS)
    failure = failure_of(run_case(case("raises", path=())))
    assert (failure.phase, failure.kind) == ("import", "ModuleNotFoundError")


def test_a_persistent_cache_hit_is_rejected_and_the_program_is_the_same_in_every_process(
    tmp_path, closure_record, case, failure_of
):
    env = {
        "JAX_ENABLE_COMPILATION_CACHE": "true",
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    first, second = (run_case(case("matrix", params={"size": 40}, env=env)) for _ in range(2))
    assert first.status == "ok" and first.program == closure_record.program
    assert first.program.hlo_fingerprint is not None
    assert (first.counts.compiles_count, first.counts.cache_hits_count) == (1, 0)
    failure = failure_of(second, "rejected")
    assert (failure.phase, failure.kind) == ("compile", "CacheHit")
    assert (second.counts.compiles_count, second.counts.cache_hits_count) == (0, 1)


def test_a_function_that_was_compiled_before_is_rejected(worked, failure_of):
    failure = failure_of(worked("called_before_measured"), "rejected")
    assert (failure.phase, failure.kind) == ("compile", "AlreadyCompiled")


def test_a_file_that_measures_itself_without_a_guard_is_refused(tmp_path):
    file = tmp_path / "unguarded.py"
    file.write_text(
        "import jax.numpy as jnp, jaxmeter\n"
        "def case():\n    return jaxmeter.Case(lambda x: x + 1, (jnp.ones(3),))\n"
        "record = jaxmeter.run_case(jaxmeter.BenchmarkCase('one', __file__ + ':case'))\n"
        "print(record.failure.message)\n"
    )
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=60)
    assert "put this call below `if __name__" in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("variable", "name"),
    [(" ci-runner ", "ci-runner"), *((empty, platform.node()) for empty in (None, "", "  "))],
)
def test_the_host_has_the_name_in_the_variable_or_of_the_system(variable, name, monkeypatch):
    monkeypatch.delenv("JAXMETER_HOST", raising=False)
    if variable is not None:
        monkeypatch.setenv("JAXMETER_HOST", variable)
    assert host_environment().machine == name
