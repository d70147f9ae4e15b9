"""Exact metrics of operations are kept for later reviews of the same code."""

import os
import shutil

import pytest

from benchmarks.operations import kept as kept_module
from benchmarks.operations import measure
from benchmarks.operations.kept import code_digest, keep, take_kept
from jaxmeter import JaxmeterError
from jaxmeter._records.record import Status
from tests.benchmarks.common import planned, side_in, write_record


@pytest.fixture
def measured(tmp_path):
    """Return a side with records and details; two operations succeeded and one failed."""
    side = side_in(tmp_path, "measured")
    side.details.mkdir(parents=True)
    statuses: dict[str, Status] = {"field": "ok", "gradient": "ok", "broken": "failed"}
    for name, status in statuses.items():
        write_record(side.store, planned(f"operations/{name}"), status=status)
        (side.details / f"{name}.json").write_text(name)
    return side


def test_readable_records_of_succeeded_operations_are_copied_to_a_later_review(measured, tmp_path):
    kept, later = tmp_path / "kept" / "a", side_in(tmp_path, "later")
    assert take_kept(kept, later, ["*"]) == 0
    keep(kept, measured)
    assert take_kept(kept, later, ["f*"]) == 1
    assert take_kept(kept, later, ["*"]) == 1, "the other operation is there already"
    found = later.store.root.glob("operations/*/0.json")
    assert {path.parent.name for path in found} == {"field", "gradient"}
    assert (later.details / "field.json").read_text() == "field"
    (kept / "records" / "field" / "0.json").write_text("{")
    assert take_kept(kept, side_in(tmp_path, "third"), ["*"]) == 1


def test_the_oldest_folders_are_removed(measured, tmp_path, monkeypatch):
    monkeypatch.setattr(kept_module, "MAX_FOLDERS", 2)
    for age, name in enumerate("cba"):
        keep(tmp_path / "kept" / name, measured)
        os.utime(tmp_path / "kept" / name, (1e9 - age, 1e9 - age))
    keep(tmp_path / "kept" / "d", measured)
    assert {path.name for path in (tmp_path / "kept").iterdir()} == {"c", "d"}


def written(folder, text="1"):
    (folder / "__pycache__").mkdir(parents=True, exist_ok=True)
    (folder / "one.py").write_text(text)


def test_the_digest_follows_code_and_options_alone(tmp_path, monkeypatch):
    folders = tmp_path / "vcjax", tmp_path / "benchmarks"
    for folder in folders:
        written(folder)
    first = code_digest(*folders)
    (folders[0] / "__pycache__" / "one.pyc").write_text("2")
    assert code_digest(*folders) == first
    monkeypatch.setenv("JAX_ENABLE_X64", "maybe")
    assert code_digest(*folders) != first
    monkeypatch.undo()
    for folder in folders:
        written(folder, "2")
        assert code_digest(*folders) != first
        written(folder)
    with pytest.raises(JaxmeterError, match="code_digest: got the folder .*no file"):
        code_digest(tmp_path / "nothing", folders[1])


@pytest.fixture
def measuring(tmp_path, monkeypatch):
    """Return a function that measures without workers, and returns the number of measurements."""
    count = 0

    def work(side, only, *, workers_count):
        nonlocal count
        case = planned("operations/field")
        if side.store.read(case, 0) is None:
            count += 1
            (side.details / "field.json").write_text(str(count))
            write_record(side.store, case)

    monkeypatch.setattr(measure, "_work", work)
    for name in ("vcjax", "benchmarks"):
        written(tmp_path / name)

    def run(side):
        measure.measure_operations(side_in(tmp_path, side), kept=tmp_path / "kept")
        return count

    return run


def test_a_later_review_measures_again_only_if_the_code_has_changed(measuring, tmp_path):
    assert [measuring("a"), measuring("b"), measuring("a")] == [1, 1, 1]
    assert (tmp_path / "details" / "b" / "field.json").read_text() == "1"
    written(tmp_path / "benchmarks", "2")
    assert [measuring("a"), measuring("b")] == [2, 2]
    assert (tmp_path / "details" / "b" / "field.json").read_text() == "2"


def test_a_record_without_details_is_measured_again(measuring, tmp_path):
    measuring("a")
    (tmp_path / "details" / "a" / "field.json").unlink()
    shutil.rmtree(tmp_path / "kept")
    assert measuring("a") == 2


def test_records_are_not_kept_if_the_code_changes_while_it_is_measured(
    measuring, tmp_path, monkeypatch
):
    work = measure._work

    def edit(*args, **options):
        work(*args, **options)
        written(tmp_path / "benchmarks", "2")

    monkeypatch.setattr(measure, "_work", edit)
    assert measuring("a") == 1
    assert not (tmp_path / "kept").exists()


def test_a_folder_that_cannot_be_written_stops_no_review(measuring, tmp_path, capsys):
    (tmp_path / "kept").write_text("a file")
    assert measuring("a") == 1
    assert "kept records cannot be used or written" in capsys.readouterr().out
