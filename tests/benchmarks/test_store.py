"""The store: a record is whole or absent, and belongs to its case."""

import jax
import pytest

from benchmarks.measuring.store import RecordStore, environment_name, store_root
from jaxmeter import Record
from tests.benchmarks.common import planned

CASE = planned("suite/point")
RECORD = Record(name=CASE.name, status="ok", target=CASE.target)


@pytest.fixture
def store(tmp_path):
    return RecordStore(tmp_path / "cases")


def test_a_written_record_is_read_back_equal_in_its_own_round(store):
    path = store.write(CASE, 1, RECORD)
    assert list(path.parent.iterdir()) == [path], "no draft remains"
    assert store.read(CASE, 1) == RECORD
    assert store.read(CASE, 0) is None
    assert store.path(CASE.name, 1).relative_to(store.root).as_posix() == "suite/point/1.json"


@pytest.mark.parametrize("text", ["", '{"schema": 1, "na', "[]", '{"schema": 999}'])
def test_a_file_that_is_no_record_is_renamed_and_counts_as_absent(store, text):
    path = store.path(CASE.name, 0)
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert store.read(CASE, 0) is None
    assert not path.exists()
    assert path.with_suffix(".unreadable").read_text() == text


def test_a_record_of_other_parameters_is_renamed(store):
    path = store.write(
        CASE, 0, Record(name="x", status="ok", target=CASE.target, params={"digits": 3})
    )
    assert store.read(CASE, 0) is None
    assert path.with_suffix(".stale").exists()


def test_asv_names_store_and_environment_unless_a_variable_names_the_store(monkeypatch, tmp_path):
    monkeypatch.delenv("VCJAX_BENCH_STORE", raising=False)
    monkeypatch.setenv("ASV_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("ASV_ENV_NAME", "virtualenv-py3.11-jax0.10.2 odd/name")
    assert store_root() == tmp_path / "results/records"
    assert environment_name() == "virtualenv-py3.11-jax0.10.2-odd-name"
    monkeypatch.setenv("VCJAX_BENCH_STORE", str(tmp_path / "elsewhere"))
    assert store_root() == tmp_path / "elsewhere"


def test_outside_asv_an_environment_is_named_by_its_versions_and_device(monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    assert environment_name().startswith("py3.")
    assert environment_name().endswith(f"-jax{jax.__version__}-cpu")
