"""asv collects every benchmark, and each has a unit and runs at its smallest size."""

import dataclasses
import inspect
import itertools
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

import jax
import jax.numpy as jnp
import pytest
from asv_runner.benchmarks.track import TrackBenchmark
from asv_runner.discovery import disc_benchmarks
from jax.experimental.compilation_cache import compilation_cache

import benchmarks
from benchmarks import closure, common, habits
from benchmarks.cases import habits as habit_cases
from benchmarks.cases import reference, shape
from benchmarks.cases.quantities import WrongAnswer
from benchmarks.casing import CasingVariants
from benchmarks.measuring.plan import SCRATCH_VARIABLE
from benchmarks.measuring.run import SUITES
from benchmarks.measuring.runner import measure_plan
from benchmarks.measuring.store import RecordStore
from benchmarks.summary import Summary, summarise
from jaxmeter._workers.worker import work

# The smallest sizes do not resolve B.
pytestmark = pytest.mark.filterwarnings("ignore::vcjax.UnresolvedWarning")

ROOT = str(Path(benchmarks.__file__).parent)
CHECKOUT = Path(ROOT).parent
SMALLEST = {
    "casing_variants": ("closure", 3),
    "chunk_sweep": (1024, 80, 6),
    "coronagraph_variants": ("cached", 64),
    "device_sweep": (2, 6),
    "habits": ("temporary_function",),
    "loops": ("python", 10),
    "memory_sweep": ("gradient", "auto", "auto"),
    "off_surface": (1e-2, 3),
    "against_reference": (3,),
    "gradient_against_reference": (3,),
    "shape_gradient": (3,),
}
# A gradient has one digit less than the field of the same rule. case_vc_large has few points.
ERRORS = {
    "gradient_against_reference": ("gradient_error_relative", 1e-2),
    "coronagraph_variants": ("rate_difference_relative", 1e-5),
    # The functions that make these cases check the counts.
    "habits": ("compiles_count", 21),
    "loops": ("equations_count", 11),
    "memory_sweep": ("error_relative", 0.1),
    "off_surface": ("error_relative", 1e-2),
    "shape_gradient": ("modes_error_relative", 1e-10),
}
# These suites run in worker processes, with optimisation: the first reads a stored casing, and the
# second needs devices from an environment variable. The other suites run in this process.
IN_WORKERS = ("casing_variants", "device_sweep")
# These suites time the compile of the first preparation, which earlier tests may have compiled.
FIRST_PREPARATIONS = ("against_reference", "gradient_against_reference")
# Cases that are smaller than every case in the grid of their suite.
W7X = {**common.W7X, "digits": 3}
ELLIPSE = {"workload": "rotating_ellipse", "half_period": True}
SMALLER = {
    "chunk_sweep": {
        "params": {**W7X, "chunk_size": 1024, "target_chunk_size": 80},
        "preparation": common.casing_preparation(3),
    },
    "coronagraph_variants": {
        "params": {"variant": "cached", "size": 16},
        "preparation": closure.preparation(16),
    },
    "device_sweep": {"params": {**W7X, "device_count": 2}},
    "against_reference": {"params": {**ELLIPSE, "digits": 3}},
    "gradient_against_reference": {"params": {**ELLIPSE, "digits": 2}},
    "shape_gradient": {"params": {"workload": "case_vc_large", "digits": 3}},
}
# Numbers of timed calls in the checks; the tests set each number to 1.
TIMED = ((reference, "EVALUATIONS"), (reference, "SETUPS"), (shape, "COMPARISONS"))
UNITS = {"_seconds": "seconds", "_bytes": "bytes", "_count": "1", "_relative": "1"}


@pytest.fixture(scope="module")
def collected():
    return {benchmark.name: benchmark for benchmark in disc_benchmarks(ROOT)}


@pytest.fixture
def no_cache():
    """Turn off the environment's compilation cache: a cached program has no compile time."""
    name = "jax_enable_compilation_cache"
    before = getattr(jax.config, name)
    jax.config.update(name, False)
    compilation_cache.reset_cache()
    yield
    jax.config.update(name, before)
    compilation_cache.reset_cache()


def in_this_process(case):
    """Measure a case in this process, on all CPUs, with the packages that are already imported."""
    scratch = {SCRATCH_VARIABLE: case.env[SCRATCH_VARIABLE]}
    with mock.patch.dict(os.environ, scratch):
        return work(dataclasses.replace(case, cpus=None, path=()))


def methods(suite):
    return [name for name, _ in inspect.getmembers(suite) if name.startswith("track_")]


def test_asv_collects_every_method_of_every_suite_and_nothing_else(collected):
    expected = {
        f"{suite.__module__.split('.', 1)[1]}.{suite.__name__}.{method}"
        for suite in SUITES
        for method in methods(suite)
    }
    assert set(collected) == expected
    assert all(isinstance(benchmark, TrackBenchmark) for benchmark in collected.values())


def test_suites_import_no_jax_and_asv_collects_them_without_optional_packages():
    modules = sorted({suite.__module__ for suite in SUITES})
    code = (
        "import sys\n"
        "sys.modules.update(dict.fromkeys(['rich', 'psutil', 'pandas', 'asv', 'pytest']))\n"
        f"import {', '.join(modules)}\n"
        "assert not {'jax', 'numpy', 'vcjax'} & set(sys.modules)\n"
        "from asv_runner.discovery import disc_benchmarks\n"
        "assert list(disc_benchmarks('benchmarks'))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_every_benchmark_has_the_unit_of_its_name_a_version_and_limits(collected):
    for name, benchmark in collected.items():
        units = [unit for suffix, unit in UNITS.items() if name.endswith(suffix)]
        assert [benchmark.unit] == units, name
        quantity = name.split(".track_")[1]
        assert benchmark.version == common.VERSIONS.get(quantity, "1")
        assert benchmark.timeout > 0 and benchmark.setup_cache_timeout > 0


def test_each_suite_has_its_own_cache(collected):
    keys = {suite.__name__: set() for suite in SUITES}
    for name, benchmark in collected.items():
        keys[name.split(".")[1]].add(benchmark.setup_cache_key)
    assert all(len(found) == 1 for found in keys.values())
    assert len(set.union(*keys.values())) == len(SUITES)


@pytest.mark.parametrize("suite", SUITES)
def test_the_cases_of_a_suite_have_distinct_names(suite):
    names = [case.name for case in suite().plan("full")]
    assert len(set(names)) == len(names) > 0
    assert all(name.startswith(f"{suite.suite}/") for name in names)


@pytest.mark.parametrize("suite", SUITES)
def test_the_quick_grid_is_part_of_the_full_grid_with_no_more_rounds(suite):
    full = {case.name: case for case in suite().plan("full")}
    for case in suite().plan("quick"):
        assert dict(case.params) == dict(full[case.name].params)
        assert case.rounds <= full[case.name].rounds


def test_variants_at_six_digits_have_enough_processes_to_show_a_difference():
    cases = {case.name: case for case in CasingVariants().plan("quick")}
    for variant in ("closure", "argument", "simplified"):
        assert cases[f"casing_variants/w7x-{variant}-d6"].rounds >= 6


@pytest.mark.parametrize("suite", SUITES)
def test_every_benchmark_runs_at_its_smallest_size(
    suite, collected, monkeypatch, tmp_path, no_cache
):
    if suite.suite == "device_sweep" and jax.default_backend() != "cpu":
        pytest.skip("only CPUs can be divided into several devices")
    point = SMALLEST[suite.suite]
    case = suite().case("quick", *point)
    smallest = dataclasses.replace(case, rounds=1, repeat=3, **SMALLER.get(suite.suite, {}))
    for module, number in TIMED:
        monkeypatch.setattr(module, number, 1)
    if suite.suite in FIRST_PREPARATIONS:
        jax.clear_caches()
    if suite.suite in IN_WORKERS:
        monkeypatch.setattr(suite, "plan", lambda self, grid: [smallest])
        monkeypatch.setenv("VCJAX_BENCH_STORE", str(tmp_path))
        cache = suite().measured()
    else:
        records = measure_plan([smallest], RecordStore(tmp_path), run_case=in_this_process)
        cache = {name: summarise(found) for name, found in records.items()}
    assert list(cache) == [case.name]
    if cache[case.name]["status"] == "skipped":
        pytest.skip(cache[case.name]["message"])
    mine = [b for name, b in collected.items() if f".{suite.__name__}." in name]
    assert len(mine) == len(methods(suite))
    for benchmark in mine:
        benchmark.set_param_idx(list(itertools.product(*suite.params)).index(point))
        benchmark.set_cache(cache)
        # asv skips the time of a single process.
        quantity = benchmark.name.split(".track_")[1]
        assert benchmark.do_setup() == (quantity in cache[case.name]["times"])
        result = benchmark.do_run()
        values = result["samples"] if isinstance(result, dict) else [result]
        assert all(value >= 0 for value in values), benchmark.name
    error, bound = ERRORS.get(suite.suite, ("error_relative", 1e-3))
    assert cache[case.name]["numbers"][error] < bound


def test_every_habit_has_its_counts(no_cache):
    x = jnp.linspace(-1.0, 1.0, 8, dtype=jnp.float32)
    assert tuple(habit_cases.HABITS) == habits.HABITS
    for name, (_, expected) in habit_cases.HABITS.items():
        found = habit_cases.observed(name, x)
        assert (found["executions_count"], found["compiles_count"]) == expected


def test_a_habit_with_another_count_is_a_wrong_answer(monkeypatch, no_cache):
    call, _ = habit_cases.HABITS["cond"]
    monkeypatch.setitem(habit_cases.HABITS, "cond", (call, habit_cases.Expected(2, 1)))
    with pytest.raises(WrongAnswer, match="cond: 1 executions .* expected 2 and 1"):
        habit_cases.observed("cond", jnp.ones(8, jnp.float32))


def test_a_time_is_given_to_asv_if_several_processes_measured_it(collected):
    suite = CasingVariants()
    name = suite.case("quick", "closure", 3).name
    for times, is_skipped in (([1.0], True), ([1.0, 1.1], False)):
        found = {"steady_median_seconds": times}
        cache = {name: Summary(status="ok", message="", times=found, numbers={"temp_bytes": 1})}
        for quantity in ("steady_median_seconds", "error_relative"):
            benchmark = collected[f"casing.CasingVariants.track_{quantity}"]
            benchmark.set_param_idx(list(itertools.product(*suite.params)).index(("closure", 3)))
            benchmark.set_cache(cache)
            assert benchmark.do_setup() == (is_skipped and quantity in found)


def test_a_point_outside_the_grid_and_a_skipped_case_are_skipped_and_a_failed_case_fails():
    suite = CasingVariants()
    with pytest.raises(NotImplementedError, match="VCJAX_BENCH_GRID=full"):
        suite.setup({}, "closure", 3)
    name = suite.case("quick", "closure", 3).name
    skipped = {name: Summary(status="skipped", message="no such package", times={}, numbers={})}
    with pytest.raises(NotImplementedError, match="no such package"):
        suite.setup(skipped, "closure", 3)
    failed = {name: Summary(status="failed", message="check: WrongAnswer", times={}, numbers={})}
    suite.setup(failed, "closure", 3)
    with pytest.raises(RuntimeError, match="check: WrongAnswer"):
        suite.value(failed, "error_relative", ("closure", 3))
