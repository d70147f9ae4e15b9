"""The worker that measures operations: what it prints, and when it stops."""

import threading
from types import SimpleNamespace

import pytest

import jaxmeter
from benchmarks.operations import table, worker


def test_a_worker_names_a_slow_operation_and_stops_after_the_end_of_its_parent(
    tmp_path, monkeypatch, capsys
):
    def measured(one, *, is_timed):
        for thread in threading.enumerate():
            if isinstance(thread, threading.Timer):
                thread.join()
        print("printed by the operation")
        return jaxmeter.Record(one.name, "ok", target=one.target), None

    nothing = SimpleNamespace(
        dump_traceback_later=lambda *_, **__: None, cancel_dump_traceback_later=lambda: None
    )
    parents = iter((1, 1, 1, 2))  # the parent ends during the second operation
    operations = {name: table.Operation(name, (), pytest.fail) for name in "abc"}
    monkeypatch.setattr(worker, "OPERATIONS", operations)
    monkeypatch.setattr(worker, "SLOW_SECONDS", 0.0)
    monkeypatch.setattr(worker, "measured", measured)
    monkeypatch.setattr(worker, "faulthandler", nothing)
    monkeypatch.setattr(worker.jax.config, "update", lambda *_: None)
    monkeypatch.setattr(worker.os, "getppid", lambda: next(parents))
    with pytest.raises(SystemExit, match="the process 1 has ended"):
        worker.main([str(tmp_path), str(tmp_path / "details")])
    assert [line.split(",")[0] for line in capsys.readouterr().out.splitlines()] == [
        "operations/a: still running after 0 s; limit 600 s",
        "operations/a: ok",
        "operations/b: still running after 0 s; limit 600 s",
        "operations/b: ok",
    ]
