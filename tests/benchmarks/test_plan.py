"""Plans: order and grids."""

import pytest

import vcjax
from benchmarks.measuring.plan import (
    GRID_VARIABLE,
    SMALL_ROUNDS,
    WORKER_ENVIRONMENT,
    grid_from_environment,
    interleaved,
)
from benchmarks.measuring.run import planned_cases
from tests.benchmarks.common import planned


def test_cases_are_interleaved_and_every_second_pass_runs_backwards():
    cases = [planned("a", 3), planned("b", 2), planned("c", 3), planned("d", 0)]
    assert [(case.name, number) for case, number in interleaved(cases)] == [
        *[("a", 0), ("b", 0), ("c", 0)],
        *[("c", 1), ("a", 1)],
        *[("a", 2), ("b", 1), ("c", 2)],
    ]
    assert list(interleaved([])) == []


def test_the_quick_grid_is_the_default_and_an_unknown_grid_is_refused(monkeypatch):
    monkeypatch.delenv(GRID_VARIABLE, raising=False)
    assert grid_from_environment() == "quick"
    monkeypatch.setenv(GRID_VARIABLE, "full")
    assert grid_from_environment() == "full"
    monkeypatch.setenv(GRID_VARIABLE, "half")
    with pytest.raises(ValueError, match="VCJAX_BENCH_GRID='half'.*quick.*full"):
        grid_from_environment()


def test_workers_choose_tile_sizes_whatever_the_environment_of_the_caller_says():
    for name in vcjax.config().chunks:
        for variable in (name, name.rpartition("_")[0]):  # of one size, and of both sizes
            assert WORKER_ENVIRONMENT[variable] == ""


def test_the_small_grid_is_part_of_the_quick_grid():
    quick, small = planned_cases("quick"), planned_cases("small")
    assert {name: case.rounds for name, case in small.items()} == SMALL_ROUNDS
    assert all(case.target == quick[name].target for name, case in small.items())
