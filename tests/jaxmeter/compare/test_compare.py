"""Two functions are measured with interleaved calls in fresh processes. Failures are recorded."""

import itertools
import linecache
import pickle
import statistics
import sys
import types
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxmeter import (
    Case,
    ComparedProcess,
    Comparison,
    Effort,
    JaxmeterError,
    Record,
    RetraceError,
    Side,
    compare,
)
from jaxmeter.__main__ import main
from jaxmeter._cli.compare import _effort
from jaxmeter._compare import compare as comparing
from jaxmeter._compare.exact import compare_exact
from jaxmeter._compare.pair import measure_runs
from jaxmeter._measure.meter import Run
from jaxmeter._measure.progress import Progress
from jaxmeter._measure.targets import resolve
from jaxmeter._workers.processes import EndedWorker

HERE = str(Path(__file__).parent)
PATH = (HERE, str(Path(__file__).parents[1]))
QUICK = Effort(turns=5, compiles=1)
TABLE = jnp.asarray(np.arange(7.0))
X = jnp.ones(3)


def pair(*cases, calls=((), ())):
    """Return both runs, and a list that gets (number of the run, phase) when a phase begins."""
    order = []
    clock = ticking()

    def run(number):
        report = lambda record: order.append((number, record.failure.phase))  # noqa: E731
        return Run(cases[number], Progress(Record("r", "ok"), report), clock, calls[number])

    return (run(0), run(1)), order


def ticking(step=1e-3):
    return map(float, itertools.count(0.0, step)).__next__


def measured(both, effort, swapped=False):
    found = measure_runs(both, effort, swapped=swapped)
    records = tuple(one.progress.record for one in both)
    return records, ComparedProcess(*records, swapped=swapped, **found)


def test_steady_state_calls_are_interleaved_and_their_order_alternates():
    order = []

    def noting(name):
        def host(x):
            order.append(name)
            return x

        shape = jax.ShapeDtypeStruct(X.shape, X.dtype)
        return Case(lambda x: jax.pure_callback(host, shape, x), (X,))

    both, _ = pair(noting("a"), noting("b"))
    measured(both, Effort(turns=4, turn_seconds=0.0, compiles=0))
    assert "".join(order[-8:]) == "abbaabba"


def test_both_functions_are_measured_in_one_process_and_further_calls_count_their_retraces():
    calls = [((jnp.ones(n),), {}) for n in (3, 4, 4, 5)]
    cases = Case(lambda x: TABLE[:3] * x, (X,)), Case(lambda x: x + 1.0, (X,))
    both, _ = pair(*cases, calls=(calls[:1], calls))
    effort = Effort(turns=7, turn_seconds=3e-3, steady_seconds=100.0, compiles=2)
    (a, b), found = measured(both, effort)
    compiles = found.a_compiles, found.b_compiles
    assert len(a.samples_seconds) == len(b.samples_seconds) == 7
    assert [len(side) for side in compiles] == [2, 2]
    assert all(one.compile_seconds == pytest.approx(1e-3) for side in compiles for one in side)
    assert (a.constants.captured_bytes, b.constants.captured_bytes) == (56, 0)
    assert (a.counts.traces_count, b.counts.traces_count) == (1, 3)  # with the further calls
    assert a.phases.first_call_seconds is not None and b.memory.peak_rss_bytes is not None


@pytest.mark.parametrize("swapped", [False, True])
def test_a_swapped_process_measures_and_compiles_the_second_function_first(swapped):
    both, order = pair(Case(lambda x: x + 1.0, (X,)), Case(lambda x: x + 2.0, (X,)))
    measured(both, QUICK, swapped)
    first = [number for number, phase in order if phase == "trace"]
    assert first == ([1, 0] if swapped else [0, 1])
    again = [number for number, phase in order if phase == "compile again"]
    assert again == first


def test_turns_end_in_time_but_at_least_five_are_taken():
    both, _ = pair(Case(lambda x: x + 1.0, (X,)), Case(lambda x: x + 2.0, (X,)))
    (a, _), found = measured(both, Effort(turns=99, steady_seconds=1e-9, compiles=0))
    assert len(a.samples_seconds) == 5 and found.a_compiles == found.b_compiles == ()


@pytest.mark.parametrize("swapped", [False, True])
def test_a_jitted_function_has_no_difference_from_itself_or_its_second_jit(swapped):
    def step(x):
        return x + 1.0

    calls = [((jnp.ones(n),), {}) for n in (3, 4, 4, 5)]
    for fns in ((jax.jit(step),) * 2, (jax.jit(step), jax.jit(step))):
        both, _ = pair(*(Case(fn, (X,)) for fn in fns), calls=(calls, calls))
        (a, b), found = measured(both, QUICK, swapped)
        assert a.counts == b.counts and a.counts.traces_count == 3
        assert not [one for one in compare_exact([a], [b]) if one.verdict != "same"]
        assert len(found.a_compiles) == len(found.b_compiles) == 1


def test_functions_that_captured_different_values_differ():
    def adding(values):
        held = jnp.asarray(values)
        return Case(lambda x: x + held, (jnp.ones(50),))

    # The texts of the optimised programs are equal, because they leave out large constants.
    values = np.cos(np.arange(50.0))
    both, _ = pair(adding(values), adding(2.0 * values))
    (a, b), found = measured(both, QUICK)
    assert a.program == b.program
    differing = {one.quantity for one in compare_exact([a], [b]) if one.verdict != "same"}
    assert differing == {"constants.captured_fingerprint"}
    assert found.answers is not None
    assert found.answers.max_difference == 1.0


@pytest.mark.parametrize("swapped", [False, True])
def test_donated_arguments_exist_in_every_call_and_answers_of_different_programs_are_compared(
    swapped,
):
    donating = Case(lambda x: x * 2.0, (X + 0.0,), jit_options={"donate_argnums": 0})
    both, _ = pair(donating, Case(lambda x: x + x, (X,)))
    (a, _), found = measured(both, QUICK, swapped)
    assert len(a.samples_seconds) == 5
    assert found.answers is not None
    assert found.answers.a_fingerprint == found.answers.b_fingerprint


def test_a_retrace_in_a_steady_state_call_is_an_error_of_its_function(never_the_same):
    bad = Case(lambda x, mode: x + 1.0, (X, never_the_same), jit_options={"static_argnums": 1})
    both, _ = pair(Case(lambda x: x + 1.0, (X,)), bad)
    with pytest.raises(RetraceError, match="another trace or compile for the same arguments"):
        measured(both, QUICK)
    assert [one.progress.record.status for one in both] == ["ok", "failed"]


def test_a_function_of_the_running_script_is_named_by_its_file(tmp_path, monkeypatch):
    script = types.ModuleType("__main__")
    script.__file__ = str(tmp_path / "script.py")
    cell = "import jax\nshift = 3.0\n@jax.jit\ndef step(x):\n    return x + shift\n"
    exec(compile(cell, "<cell>", "exec"), script.__dict__)
    monkeypatch.setitem(sys.modules, "__main__", script)
    step = vars(script)["step"]
    assert comparing._side(step, tmp_path).target == f"{tmp_path}/script.py:step"
    del script.__file__  # as in a notebook
    with pytest.raises(
        JaxmeterError,
        match="the source of the function is unknown, .* save the function in a file",
    ):
        comparing._side(step, tmp_path)
    monkeypatch.setitem(linecache.cache, "<cell>", (len(cell), None, cell.splitlines(True), ""))
    again = resolve(comparing._side(step, tmp_path).target)
    assert again is not step and again(2.0) == 5.0


def test_fresh_processes_find_the_differences_and_keep_samples_and_environment(
    tmp_path, monkeypatch
):
    monkeypatch.syspath_prepend(HERE)
    monkeypatch.chdir(tmp_path)
    targets = ["compared_targets:step", "compared_targets:more", "-a", "f32[4000]"]
    files = ["--json", "c.json", "--markdown", "c.md"]
    assert main(["compare", *targets, "--processes", "2", *files]) == 1
    found = Comparison.from_json((tmp_path / "c.json").read_bytes())
    assert found.verdict == "different"
    differences = {one.quantity for one in found.differences}
    assert {"constants.captured_bytes", "counts.traces_count", "program.hlo_fingerprint"} <= (
        differences
    )
    exact = {one.quantity: (one.a, one.b) for one in found.exact}
    assert exact["constants.captured_bytes"] == ((0,), (4096,))
    assert exact["counts.traces_count"] == ((2,), (3,))
    assert {"constants.captured_fingerprint", "answers.bits"} <= differences
    written = (tmp_path / "c.md").read_text()
    assert written.startswith("### step -> more: different in ")
    assert [process.swapped for process in found.processes] == [False, True]
    for process in found.processes:
        assert len(process.a.samples_seconds) == len(process.b.samples_seconds) >= 5
        assert len(process.a_compiles) == len(process.b_compiles) >= 1
        environment = process.b.environment
        assert environment is not None and environment.jax == jax.__version__
        assert environment.jax_options["jax_enable_compilation_cache"] is False
    assert {one.quantity for one in found.timings} == {
        *("steady_seconds", "trace_seconds", "lower_seconds", "compile_seconds")
    }
    assert next(iter(found.timings)).ratio > 2.0  # three sorts take many times as long as a sine


@pytest.mark.parametrize(
    ("target", "kind", "phase", "status"),
    [
        ("compared_targets:broken", "ZeroDivisionError", "trace", "failed"),
        ("hanging_target:any", "Timeout", "import", "timeout"),
    ],
)
def test_a_failure_is_recorded_with_its_phase(target, kind, phase, status, failure_of, tmp_path):
    # The failing function goes first, so that the other function is not measured.
    sides = (Side(target, arg=("f32[3]",)), Side("compared_targets:step", arg=("f32[3]",)))
    env = {"METER_TEST_PIDS": str(tmp_path / "pids")}
    seconds = 7.0 if status == "timeout" else 100.0
    found = compare(*sides, path=PATH, env=env, timeout_seconds=seconds)
    assert found.verdict == "failed" and len(found.processes) == 1
    assert Comparison.from_json(found.to_json()) == found
    (record,) = found.failures
    failure = failure_of(record, status)
    assert (failure.kind, failure.phase, record.target) == (kind, phase, target)


def test_a_call_that_is_not_a_tuple_is_refused():
    sides = Side("compared_targets:bare", arg=("f32[3]",)), "compared_targets:step"
    found = compare(*sides, path=PATH)
    assert "compare: got call 0 of type ArrayImpl; give a tuple" in str(found.failures[0].failure)


def test_the_command_exits_with_3_after_a_failure(tmp_path, monkeypatch, capsys):
    (tmp_path / "raising_target.py").write_text("raise LookupError('on purpose')\n")
    monkeypatch.chdir(tmp_path)
    assert main(["compare", "raising_target:a", "raising_target:b", "-a", "f32[3]"]) == 3
    printed = capsys.readouterr()
    assert "not compared" in printed.out and "LookupError: on purpose" in printed.err


def test_a_worker_that_writes_no_answer_has_failed(monkeypatch, failure_of):
    monkeypatch.setattr(comparing, "in_worker", lambda *_: EndedWorker(3, None, "", 1.0))
    found = compare("compared_targets:step", "compared_targets:more")
    assert found.verdict == "failed"
    assert (
        failure_of(found.failures[0]).message == "the worker exited with code 3 in the phase start"
    )


def test_a_function_and_arguments_of_this_process_are_sent_to_the_workers(monkeypatch, tmp_path):
    tasks = []

    def in_worker(module, task, env, timeout_seconds):
        tasks.append(task)
        held = pickle.loads(Path(tasks[-1].a.pickle).read_bytes())
        assert held[0][0].shape == (3,) and held[1] == {}
        raise KeyboardInterrupt

    monkeypatch.setattr(comparing, "in_worker", in_worker)
    with pytest.raises(KeyboardInterrupt):
        compare(statistics.mean, "package.module:function", X)
    (task,) = tasks
    assert task.a.target == "statistics:mean" and task.b.target == "package.module:function"
    assert not Path(task.a.pickle).exists()
    assert set(filter(None, sys.path)) <= set(task.path)


def test_the_command_measures_for_the_seconds_given():
    assert _effort(None) == Effort()
    assert _effort(0.1).steady_seconds == 0.1
    longer = _effort(3.0)
    # The maximum number of turns fills the time, even if the functions are fast.
    assert 2 * longer.turns * longer.turn_seconds == pytest.approx(3.0)
    with pytest.raises(JaxmeterError, match="got steady_seconds=-1"):
        _effort(-1.0)
