"""The table of parameter choices has medians over processes, peaks and the Pareto front."""

import types

import jax
import pytest

from jaxmeter import Failure, JaxmeterError, Memory, Record
from jaxmeter import tables as jt


def record(*samples, temp, peak=900, checks=None):
    memory = Memory(
        argument_bytes=8,
        temp_bytes=temp,
        baseline_rss_bytes=100,
        compile_peak_rss_bytes=300,
        peak_rss_bytes=peak,
    )
    return Record("p", "ok", samples_seconds=samples, memory=memory, checks=checks or {})


def test_a_choice_is_on_the_front_if_no_other_choice_beats_it_in_time_and_memory():
    failure = Failure("run", "MemoryError", "out of memory")
    points = [
        jt.Point({"chunk": 1}, [record(3.0, temp=10), record(5.0, 5.0, temp=10, peak=700)]),
        jt.Point({"chunk": 2}, [record(2.0, temp=20)]),
        jt.Point({"chunk": 3}, [record(4.5, temp=30)]),
        jt.Point({"chunk": 4}, [Record("p", "failed", failure=failure)]),
        jt.Point({"chunk": 5}, []),
    ]
    rows = jt.memory_table(points).to_dict("records")
    assert [row["parameters"] for row in rows[:3]] == [f'{{"chunk": {n}}}' for n in (2, 1, 3)]
    assert [row["is_front"] for row in rows] == [True, True, False, False, False]
    assert (rows[1]["seconds"], rows[1]["least_seconds"], rows[1]["rounds_count"]) == (4.0, 3.0, 2)
    assert (rows[1]["run_peak_bytes"], rows[1]["compile_peak_bytes"]) == (800, 200)
    assert rows[3]["failure"] == "run: MemoryError: out of memory"
    assert [row["status"] for row in rows[3:]] == ["failed", "failed"]
    with pytest.raises(JaxmeterError, match="some of which are the same"):
        jt.memory_table([points[0], points[0]])


def test_a_choice_with_unknown_memory_does_not_exclude_other_choices():
    points = [
        jt.Point({"chunk": 1}, [record(1.0, temp=None)]),
        jt.Point({"chunk": 2}, [record(2.0, temp=20)]),
        jt.Point({"chunk": 3}, [record(3.0, temp=None)]),
        jt.Point({"chunk": 4}, [record(4.0, temp=10)]),
    ]
    front = jt.memory_table(points)["is_front"].tolist()
    assert front == [True, True, False, True]


@pytest.mark.cpu
def test_the_limit_and_the_reserved_memory_of_an_allocator_are_in_the_table(monkeypatch):
    assert jt.allocator_checks() == {}  # a CPU

    stats = {"bytes_limit": 800, "bytes_in_use": 10, "pool_bytes": 600}
    gpu = types.SimpleNamespace(platform="gpu", memory_stats=lambda: stats)
    monkeypatch.setattr(jax, "local_devices", lambda: [gpu])
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    point = jt.Point({}, [record(1.0, temp=1, checks=jt.allocator_checks())])
    (row,) = jt.memory_table([point]).to_dict("records")
    assert (row["limit_bytes"], row["reserved_bytes"]) == (800, 600)
    assert not row["is_preallocated"]
