"""Elapsed time is divided among threads, and tasks are paired with kernels."""

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxmeter._compile.record import Interval, Recording
from jaxmeter._compile.stages import TASK, Work, divide, pair, stage_seconds
from jaxmeter._trace.intervals import innermost


def test_each_moment_belongs_to_the_innermost_event():
    outer, inner, core = 0, 1, 2
    pieces = [(outer, 0, 2), (inner, 2, 3), (core, 3, 4), (inner, 4, 6), (outer, 6, 10)]
    assert list(innermost([0, 2, 3], [10, 6, 4])) == pieces


def test_workers_share_a_moment_and_the_main_thread_counts_while_no_worker_works():
    workers = [Work(1, 5, "x"), Work(3, 7, "y")]
    main = [Work(0, 9, "waits")]
    divided = divide(workers, main, 10)
    assert divided == {"waits": 1 + 2, "x": 2 + 1, "y": 1 + 2, ("other", ""): 1}


NOTHING: Any = None  # no compiled program is read
SPANS = st.tuples(st.floats(0, 9), st.floats(0.01, 9), st.sampled_from("abc"))


@given(st.lists(SPANS, max_size=8), st.lists(SPANS, max_size=4))
def test_divided_seconds_sum_to_the_elapsed_time(workers, main):
    working, waiting = (
        [Work(at, at + long, key) for at, long, key in spans] for spans in (workers, main)
    )
    divided = divide(working, waiting, 10.0)
    assert sum(divided.values()) == pytest.approx(10.0)
    assert min(divided.values()) >= 0


def tasks_of(*spans):
    return [Interval("pool", TASK, start, end) for start, end in spans]


def test_a_file_belongs_to_the_task_that_ends_soonest_after_it_was_written():
    # At 0.49 tasks 0 and 1 are running on two threads, and task 1 ends first.
    tasks = tasks_of((0.0, 0.9), (0.1, 0.5), (0.5, 0.8), (0.95, 0.95001))
    written = {"third": 0.79, "first": 0.88, "second": 0.49}
    assert pair(tasks, written) == {0: "first", 1: "second", 2: "third"}


@given(st.permutations(range(8)), st.lists(st.floats(0.02, 0.5), min_size=8, max_size=8))
def test_kernels_on_two_threads_are_all_paired_with_a_task_that_ends_at_their_time(order, lengths):
    ends = {thread: list(itertools.accumulate(lengths[thread::2])) for thread in (0, 1)}
    spans = [
        (end - long, end) for t in (0, 1) for end, long in zip(ends[t], lengths[t::2], strict=True)
    ]
    expected = {number: f"kernel {number}" for number in range(8)}
    written = {expected[number]: spans[number][1] - 1e-4 for number in order}
    paired = pair(tasks_of(*spans), written)
    assert len(paired) == 8
    # Tasks that end together cannot be distinguished, and may have each other's kernel.
    for number, name in paired.items():
        assert abs(spans[number][1] - spans[int(name.split()[1])][1]) < 1e-2


def test_a_kernel_is_not_paired_with_a_task_of_another_time():
    assert pair(tasks_of((0.0, 0.1)), {"late": 0.4}) == {}
    assert pair([], {"late": 0.4}) == {} == pair(tasks_of((0.0, 0.1)), {})


def test_events_become_stages_kernels_and_passes():
    main, pool = "tf_PjRtCompilerThreadPool", "tf_xla-cpu-codegen"
    events = (
        Interval("python", "backend_compile_and_load", 0.0, 10.0),
        Interval(main, "CpuCompiler::CompileCpuExecutable", 3.0, 9.5),
        Interval(main, "HLO passes through layout assignment (jit_f)", 0.5, 3.0),
        Interval(main, "algsimp", 1.0, 1.5),
        Interval(main, "constant_folding", 1.5, 2.5),
        Interval(main, "ThunkEmitter::EmitEntryComputation", 3.0, 4.0),
        Interval(pool, "FusionCompiler::Compile", 4.0, 5.0, "add_fusion_kernel_module"),
        Interval(pool, "CSEPass", 4.2, 4.4),
        Interval(main, "Codegen", 5.0, 9.0),
        Interval(pool, TASK, 5.0, 8.0),
        Interval(pool, TASK, 8.0, 8.5),
    )
    objects = {"add_fusion_kernel_module": 7.999, "__compute_module_dot.1": 8.499}
    found = stage_seconds(Recording(NOTHING, 10.0, events, objects, ""))
    assert {key: pytest.approx(spent) for key, spent in found.seconds.items() if spent} == {
        ("HLO passes", ""): 1.5,
        ("constant folding", ""): 1.0,
        ("emit", ""): 1.0,
        ("emit", "add_fusion"): 1.0,
        ("LLVM", "add_fusion"): 3.0,
        ("LLVM", "dot.1"): 0.5,
        ("other", ""): 2.0,
    }
    assert found.passes["algsimp"] == pytest.approx(0.5)
    assert found.unpaired_count == 0


def test_a_kernel_without_a_task_has_the_time_of_the_main_thread():
    events = (
        Interval("python", "CpuCompiler::RunBackend", 0.0, 4.0),
        Interval("python", "Codegen", 1, 3),
    )
    objects = {"reduce-window_elemental_kernel_module": 2.9}
    found = stage_seconds(Recording(NOTHING, 4.0, events, objects, ""))
    assert found.seconds["LLVM", "reduce-window"] == pytest.approx(2.0)
