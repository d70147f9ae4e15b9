"""Load the scripts as modules.

Their folder comes last in `sys.path`, so that `trace.py` does not hide Python's module `trace`.
"""

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "profiling"
if str(SCRIPTS) not in sys.path:
    sys.path.append(str(SCRIPTS))


@pytest.fixture(scope="session")
def script():
    """Return a function that loads a script by its name."""

    def load(name):
        spec = importlib.util.spec_from_file_location(f"script_{name}", SCRIPTS / f"{name}.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


def _loaded(name):
    return pytest.fixture(scope="session", name=name)(lambda script: script(name))


memory, nsys, trace, xla_dump = map(_loaded, ("memory", "nsys", "trace", "xla_dump"))


@pytest.fixture(autouse=True)
def here(monkeypatch):
    """Run each test in the folder of `profiled`, the module of targets."""
    monkeypatch.chdir(Path(__file__).parent)
