"""What the tests of workers share."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from jaxmeter import BenchmarkCase, Record
from tests.jaxmeter.compare.draws import draw

HERE = str(Path(__file__).parent)
_NUMBERS = itertools.count()


@pytest.fixture(autouse=True)
def no_calibration(monkeypatch, tmp_path_factory):
    """Whatever was measured on this machine before has no part in a test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="session")
def case():
    """Makes a case whose target is in this folder."""

    def make(function, *, module="meter_targets", **fields):
        fields = {"repeat": 3, "timeout_seconds": 100.0, "path": (HERE,)} | fields
        return BenchmarkCase(f"tests/{function}", f"{module}:{function}", **fields)

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


@pytest.fixture
def write_module(tmp_path, monkeypatch):
    """Writes a module, under a name of its own, into the current directory; gives the name."""
    monkeypatch.chdir(tmp_path)

    def write(*texts):
        name = f"commanded_module_{next(_NUMBERS)}"
        (tmp_path / f"{name}.py").write_text("".join(texts))
        return name

    return write


@pytest.fixture
def same_draws():
    """Each test draws the same, in whatever order they run."""
    draw.bit_generator.state = np.random.default_rng(4).bit_generator.state
