"""Times of operations whose programs changed: which operations, how many rounds, which order."""

import itertools
from types import SimpleNamespace

import pytest

from benchmarks.measuring import changed, pair, rounds
from benchmarks.measuring.changed import TimedSide, affordable_sides, take_rounds, timed_sides
from benchmarks.operations import worker
from jaxmeter import Record
from tests.benchmarks.common import planned, side_in, write_record


class Clock:
    """A clock that only measurements advance."""

    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def calls(monkeypatch, clock):
    """Collect (side, names, round) of each process; a process writes its records and takes 10 s."""
    found = []

    def take_operation_times(side, names, *, round_index):
        found.append((side.name, tuple(names), round_index))
        clock.now += 10.0
        for name in names:
            write_record(side.store, planned(f"operations/{name}"), round_index)

    monkeypatch.setattr(changed, "take_operation_times", take_operation_times)
    return found


@pytest.fixture
def measured(tmp_path):
    return [side_in(tmp_path, name) for name in ("base", "head", "other")]


def test_base_is_timed_with_operations_of_all_heads_and_a_head_with_its_own(measured, calls, clock):
    sides = timed_sides(measured, [["field_at"], ["self_test", "field_at"]])
    take_rounds(sides, rounds=2, seconds=1e9, clock=clock)
    assert calls == [
        ("base", ("field_at", "self_test"), 1),
        ("head", ("field_at",), 1),
        ("other", ("self_test", "field_at"), 1),
        ("other", ("self_test", "field_at"), 2),
        ("head", ("field_at",), 2),
        ("base", ("field_at", "self_test"), 2),
    ]


def test_whole_rounds_are_kept_and_the_rest_is_measured_on_all_sides(measured, calls, clock):
    sides = timed_sides(measured[:2], [["field_at"]])
    take_rounds(sides, rounds=2, seconds=1e9, clock=clock)
    (measured[1].store.root / "operations" / "field_at" / "1.json").unlink()
    calls.clear()
    take_rounds(sides, rounds=3, seconds=1e9, clock=clock)
    assert [(side, number) for side, _, number in calls] == [
        *(("base", 1), ("head", 1)),
        *(("base", 3), ("head", 3)),
    ]


def test_a_review_names_each_round_before_it_measures_the_round(
    tmp_path, clock, monkeypatch, capsys
):
    printed = []

    def measure(*_, **__):
        printed.append(capsys.readouterr().out.splitlines()[-1:])
        return Record("suite/a", "ok")

    monkeypatch.setattr(changed, "take_operation_times", measure)
    side = side_in(tmp_path, workers=SimpleNamespace(measure=measure))
    rounds.measure_first_round([planned("suite/a")], [side])
    take_rounds([TimedSide(side, ("field_at",))], rounds=1, seconds=1e9, clock=clock)
    assert printed == [["round 0 of suite/a: "], ["round 1 of operations field_at: "]]


def test_the_cheapest_operations_are_timed_and_the_others_named_before_measuring(measured, capsys):
    sides = timed_sides(measured[:2], [["field_at", "self_test", "prepare"]])
    for name, seconds in (("field_at", 5.0), ("self_test", 0.4), ("prepare", 0.4)):
        for one in measured[:2]:
            write_record(one.store, planned(f"operations/{name}"), wall_seconds=seconds)
    # In each round, each side starts a process, which runs two operations. An operation takes the
    # time of the timed calls plus twice 0.4 s.
    enough = 3 * (2 * changed.START_SECONDS + 4 * (changed.CALLS_SECONDS + 0.8))
    kept = affordable_sides(sides, enough + 1)
    assert {one.names for one in kept} == {("self_test", "prepare")}
    out = capsys.readouterr().out
    assert "3 rounds of every operation with a changed program" in out
    assert "The times of field_at will not be judged; increase --budget" in out
    assert {one.names for one in affordable_sides(sides, -5.0)} == {("self_test",)}
    assert affordable_sides(sides, 1e9)[0].names == ("self_test", "prepare", "field_at")


def test_stored_rounds_of_operations_take_no_time_and_are_not_measured_again(
    measured, calls, clock, capsys
):
    take_rounds(timed_sides(measured[:2], [["field_at"]]), rounds=3, seconds=1e9, clock=clock)
    sides = timed_sides(measured[:2], [["prepare", "field_at"]])
    calls.clear()
    take_rounds(sides, rounds=1, seconds=1e9, clock=clock)
    assert calls == [("base", ("prepare",), 1), ("head", ("prepare",), 1)]
    take_rounds(sides, rounds=3, seconds=1e9, clock=clock)
    assert affordable_sides(sides, 0.0)[0].names == ("prepare", "field_at")
    assert "will not be judged" not in capsys.readouterr().out


def test_operations_get_at_least_half_of_the_time_and_all_that_the_cases_leave(
    measured, calls, clock, monkeypatch
):
    order = []

    def measure_interleaved(cases, sides, costs, *, budget_seconds, **_):
        order.append((len(calls), budget_seconds))
        clock.now += 30.0

    def measure_first_round(cases, *_):
        clock.now += 10.0 * len(cases)
        return {"suite/a": cost}

    monkeypatch.setattr(pair, "measure_interleaved", measure_interleaved)
    monkeypatch.setattr(pair, "measure_first_round", measure_first_round)

    case = planned("suite/a")

    def run(load, cases=(case,), rounds=12, changed=("field_at",)):
        calls.clear()
        order.clear()
        for one in measured:
            for path in one.store.root.rglob("*.json"):
                path.unlink()
        options = {"rounds": rounds, "seconds": 100.0, "max_load": 4.0, "clock": clock}
        pair.measure_times(cases, measured[:2], [changed], **options, load=lambda: load)
        return order[0], len(calls)

    cost = 30.0
    assert run(1.0) == ((6, 30.0), 6)
    cost = 70.0
    assert run(1.0) == ((4, 50.0), 6), "half of the time, and the last round after the cases"
    assert run(1.0, cases=()) == ((10, 0.0), 10)
    assert run(1.0, changed=()) == ((0, 90.0), 0), "equal programs"
    assert run(7.8) == ((0, 90.0), 0), "the load is too high"
    assert run(1.0, rounds=1) == ((0, 90.0), 0), "times need a second round"


@pytest.mark.parametrize(("seconds", "count"), [(0.25, 4), (0.001, 300), (9.0, 3)])
def test_an_operation_is_called_for_about_a_second(seconds, count):
    ticks = itertools.count(step=seconds)
    samples = worker.steady_samples(lambda: None, clock=lambda: next(ticks))
    assert len(samples) == count and samples == pytest.approx([seconds] * count)
