"""Plans: order and grids."""

import pytest

from benchmarks.measuring.plan import (
    GRID_VARIABLE,
    SMALL_ROUNDS,
    PlannedCell,
    grid_from_environment,
    interleaved,
)
from benchmarks.measuring.run import SUITES


def cell(name, rounds):
    return PlannedCell(name=name, target="module:function", params={}, rounds=rounds)


def test_passes_are_interleaved_and_every_second_one_runs_backwards():
    order = [(c.name, r) for c, r in interleaved([cell("a", 3), cell("b", 2), cell("c", 3)])]
    assert order == [
        *[("a", 0), ("b", 0), ("c", 0)],
        *[("c", 1), ("a", 1)],
        *[("a", 2), ("b", 1), ("c", 2)],
    ]


def test_every_round_of_every_cell_comes_once():
    cells = [cell("a", 1), cell("b", 6), cell("c", 0), cell("d", 2)]
    order = [(c.name, r) for c, r in interleaved(cells)]
    assert sorted(order) == [(c.name, r) for c in cells for r in range(c.rounds)]


def test_a_cell_of_no_rounds_is_never_measured():
    assert list(interleaved([cell("a", 0)])) == []
    assert list(interleaved([])) == []


def test_the_quick_grid_is_the_default_and_an_unknown_one_is_refused(monkeypatch):
    monkeypatch.delenv(GRID_VARIABLE, raising=False)
    assert grid_from_environment() == "quick"
    monkeypatch.setenv(GRID_VARIABLE, "full")
    assert grid_from_environment() == "full"
    monkeypatch.setenv(GRID_VARIABLE, "half")
    with pytest.raises(ValueError, match="VCJAX_BENCH_GRID='half'.*quick.*full"):
        grid_from_environment()


def test_the_small_grid_is_part_of_the_quick_one():
    quick = {cell.name: cell for suite in SUITES for cell in suite().plan("quick")}
    small = [cell for suite in SUITES for cell in suite().plan("small")]
    assert {cell.name: cell.rounds for cell in small} == SMALL_ROUNDS
    assert all(cell.target == quick[cell.name].target for cell in small)
