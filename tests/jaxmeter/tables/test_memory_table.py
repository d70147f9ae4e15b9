"""Records of choices of parameters as a table: medians over processes, peaks, the front."""

import jax
import pytest

from jaxmeter import Failure, JaxmeterError, Memory, Record
from jaxmeter import tables as artefacts


def record(*samples, temp, peak=900, checks=None):
    memory = Memory(
        argument_bytes=8,
        temp_bytes=temp,
        baseline_rss_bytes=100,
        compile_peak_rss_bytes=300,
        peak_rss_bytes=peak,
    )
    return Record("p", "ok", samples_seconds=samples, memory=memory, checks=checks or {})


def test_the_front_holds_what_nothing_beats_in_time_and_memory():
    failure = Failure("run", "MemoryError", "out of memory")
    points = [
        artefacts.Point({"chunk": 1}, [record(3.0, temp=10), record(5.0, 5.0, temp=10, peak=700)]),
        artefacts.Point({"chunk": 2}, [record(2.0, temp=20)]),
        artefacts.Point({"chunk": 3}, [record(4.5, temp=30)]),
        artefacts.Point({"chunk": 4}, [Record("p", "failed", failure=failure)]),
        artefacts.Point({"chunk": 5}, []),
    ]
    rows = artefacts.memory_table(points).to_dict("records")
    assert [row["parameters"] for row in rows[:3]] == [f'{{"chunk": {n}}}' for n in (2, 1, 3)]
    assert [row["is_front"] for row in rows] == [True, True, False, False, False]
    assert (rows[1]["seconds"], rows[1]["least_seconds"], rows[1]["rounds_count"]) == (4.0, 3.0, 2)
    assert (rows[1]["run_peak_bytes"], rows[1]["compile_peak_bytes"]) == (800, 200)
    assert rows[3]["failure"] == "run: MemoryError: out of memory"
    assert [row["status"] for row in rows[3:]] == ["failed", "failed"]
    with pytest.raises(JaxmeterError, match="twice"):
        artefacts.memory_table([points[0], points[0]])


def test_what_the_allocator_reserved_is_told_where_there_is_one(monkeypatch):
    assert artefacts.allocator_checks() == {}  # a CPU

    class Gpu:
        platform = "gpu"

        def memory_stats(self):
            return {"bytes_limit": 800, "bytes_in_use": 10, "pool_bytes": 600}

    monkeypatch.setattr(jax, "local_devices", lambda: [Gpu()])
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    checks = artefacts.allocator_checks()
    (row,) = artefacts.memory_table(
        [artefacts.Point({}, [record(1.0, temp=1, checks=checks)])]
    ).to_dict("records")
    assert (row["limit_bytes"], row["reserved_bytes"]) == (800, 600)
    assert row["is_preallocated"] is False or row["is_preallocated"] == False  # noqa: E712
