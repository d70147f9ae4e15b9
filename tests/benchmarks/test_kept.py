"""Exact metrics of operations are kept by the code that they were measured with."""

import os

import pytest

from benchmarks.measuring.plan import PlannedCase
from benchmarks.measuring.store import RecordStore
from benchmarks.operations import kept as kept_module
from benchmarks.operations.kept import code_digest, keep, take_kept
from jaxmeter import Record
from jaxmeter._records.record import Status


@pytest.fixture
def measured(tmp_path):
    """A store with two good operations and a failed one, and their details."""
    store, details = RecordStore(tmp_path / "store"), tmp_path / "details"
    details.mkdir()
    statuses: dict[str, Status] = {"field": "ok", "gradient": "ok", "broken": "failed"}
    for name, status in statuses.items():
        case = PlannedCase(name=f"operations/{name}", target="m:t", params={}, rounds=1)
        store.write(case, 0, Record(case.name, status, target="m:t"))
        (details / f"{name}.json").write_text(name)
    return store.root / "operations", details


def test_records_of_operations_that_succeeded_are_copied_into_a_later_review(measured, tmp_path):
    kept, suite, details = tmp_path / "kept" / "a", tmp_path / "later", tmp_path / "details2"
    assert take_kept(kept, suite, details, ["*"]) == 0
    keep(kept, *measured)
    assert take_kept(kept, suite, details, ["f*"]) == 1
    assert take_kept(kept, suite, details, ["*"]) == 1, "the first is there already"
    assert {path.parent.name for path in suite.glob("*/0.json")} == {"field", "gradient"}
    assert (details / "field.json").read_text() == "field"
    (kept / "records" / "field" / "0.json").write_text("{")
    assert take_kept(kept, tmp_path / "third", tmp_path / "details3", ["*"]) == 1


def test_the_oldest_folders_are_removed(measured, tmp_path, monkeypatch):
    monkeypatch.setattr(kept_module, "MAX_FOLDERS", 2)
    for age, name in enumerate("cba"):
        keep(tmp_path / "kept" / name, *measured)
        os.utime(tmp_path / "kept" / name, (1e9 - age, 1e9 - age))
    keep(tmp_path / "kept" / "d", *measured)
    assert {path.name for path in (tmp_path / "kept").iterdir()} == {"c", "d"}


def test_the_digest_follows_code_and_options_alone(tmp_path, monkeypatch):
    package, benchmarks = tmp_path / "vcjax", tmp_path / "benchmarks"
    for folder in (package, benchmarks):
        (folder / "__pycache__").mkdir(parents=True)
        (folder / "one.py").write_text("1")
    first = code_digest(package, benchmarks)
    (package / "__pycache__" / "one.pyc").write_text("2")
    assert code_digest(package, benchmarks) == first
    monkeypatch.setenv("JAX_ENABLE_X64", "maybe")
    assert code_digest(package, benchmarks) != first
    monkeypatch.undo()
    (benchmarks / "one.py").write_text("2")
    assert code_digest(package, benchmarks) != first
