"""Fixtures that make cases and modules, measure cases, and check failures."""

import itertools
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from jax.experimental.compilation_cache import compilation_cache

from jaxmeter import BenchmarkCase, Record
from jaxmeter._workers.worker import work
from tests.jaxmeter.compare.draws import draw

HERE = str(Path(__file__).parent)
_NUMBERS = itertools.count()


@pytest.fixture(autouse=True)
def no_calibration(monkeypatch, tmp_path_factory):
    """Hide earlier calibrations of this machine from the tests."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="session")
def case():
    """Return a function that makes a case with a target in this folder."""

    def make(function, *, module="meter_targets", **fields):
        fields = {"repeat": 3, "timeout_seconds": 100.0, "path": (HERE,)} | fields
        return BenchmarkCase(f"tests/{function}", f"{module}:{function}", **fields)

    return make


@pytest.fixture
def worked(case, monkeypatch):
    """Return a function that measures a case in this process, as a worker does."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    return lambda function, **fields: work(case(function, **fields))


@pytest.fixture(scope="session")
def failure_of():
    """Return a function that returns the failure of a record, and checks that JSON keeps it."""

    def failure(record, status="failed"):
        assert record.status == status, record.failure
        assert record.failure is not None
        assert Record.from_json(record.to_json()).failure == record.failure
        return record.failure

    return failure


@pytest.fixture
def never_the_same():
    """Return a static argument that causes a trace in each call, because it differs from itself."""

    class NeverTheSame:
        numbers = itertools.count()

        def __hash__(self):
            return next(self.numbers)

        def __eq__(self, other):
            return False

    return NeverTheSame()


@pytest.fixture
def persistent_cache(tmp_path):
    """Make JAX keep every compiled program in a new persistent cache; return its folder."""
    options = {
        "jax_compilation_cache_dir": str(tmp_path),
        "jax_enable_compilation_cache": True,
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    before = {name: getattr(jax.config, name) for name in options}

    def use(values):
        for name, value in values.items():
            jax.config.update(name, value)
        compilation_cache.reset_cache()

    use(options)
    yield tmp_path
    use(before)


@pytest.fixture
def write_module(tmp_path, monkeypatch):
    """Return a function that writes a module into the current directory and returns its name."""
    monkeypatch.chdir(tmp_path)

    def write(*texts):
        name = f"commanded_module_{next(_NUMBERS)}"
        (tmp_path / f"{name}.py").write_text("".join(texts))
        return name

    return write


@pytest.fixture
def same_draws():
    """Give each test the same random numbers in any order of tests."""
    draw.bit_generator.state = np.random.default_rng(4).bit_generator.state
