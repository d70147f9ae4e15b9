"""What the tests of workers share."""

from pathlib import Path

import pytest

from jaxmeter import Cell, Record

HERE = str(Path(__file__).parent)


@pytest.fixture(autouse=True)
def no_calibration(monkeypatch, tmp_path_factory):
    """Whatever was measured on this machine before has no part in a test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="session")
def cell():
    """Makes a cell whose target is in this folder."""

    def make(function, *, module="meter_targets", **fields):
        fields = {"repeat": 3, "timeout_seconds": 100.0, "path": (HERE,)} | fields
        return Cell(f"tests/{function}", f"{module}:{function}", **fields)

    return make


@pytest.fixture(scope="session")
def failure_of():
    """Gives the failure of a record, once it is sure that there is one and JSON keeps it."""

    def failure(record, status="failed"):
        assert record.status == status, record.failure
        assert record.failure is not None
        assert Record.from_json(record.to_json()).failure == record.failure
        return record.failure

    return failure
