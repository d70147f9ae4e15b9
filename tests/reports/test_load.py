"""Stores with files that are truncated, renamed, of another schema or in a wrong place."""

import dataclasses
import json
import math
import os

import pytest

from reports import ReportError, read_store, tables
from reports.store import load
from tests.reports import made_up


@pytest.fixture
def good(tmp_path):
    """Write one valid record into a new store, and return its path."""
    return made_up.write(tmp_path, made_up.casing_case("closure", 3))


@pytest.fixture
def patient(monkeypatch):
    """Treat every file as complete, however new it is."""
    monkeypatch.setattr(load, "GROWING_SECONDS", -1.0)


def write_changed(good, change, name="1.json"):
    """Write another round next to the valid record, with changed data, and return its path."""
    data = json.loads(good.read_text())
    change(data)
    path = good.parent / name
    path.write_text(json.dumps(data))
    return path


def only_skipped(root):
    """Return the only file that the reader skips; check that the valid record is a row."""
    store = read_store(root)
    assert len(tables.measurements(store)) == 1
    (skipped,) = store.skipped
    return skipped


def setting(*path, value):
    def change(data):
        *folders, last = path
        for name in folders:
            data = data[name]
        data[last] = value

    return change


def test_a_record_has_its_place_and_only_the_given_commit_is_read(good, tmp_path):
    path = made_up.write(tmp_path, made_up.casing_case("closure", 6), 4, commit="f" * 40)
    assert len(read_store(tmp_path).records) == 2
    (stored,) = read_store(tmp_path, commit="f" * 40).records
    assert (stored.commit, stored.environment_key) == ("f" * 40, made_up.KEY)
    assert (stored.case, stored.round_index) == ("casing_variants/w7x-closure-d6", 4)
    assert stored.path == path
    assert stored.record == made_up.casing_case("closure", 6)


def test_links_to_folders_and_to_nothing_are_skipped_with_the_reason(good, tmp_path):
    (tmp_path / ("f" * 40)).symlink_to(tmp_path / made_up.COMMIT, target_is_directory=True)
    (tmp_path / made_up.COMMIT / "other").symlink_to(tmp_path / "nowhere")
    (good.parent / "1.json").symlink_to(tmp_path / "nowhere")
    (good.parent / "2.json").symlink_to(good)  # a link to a record is read
    store = read_store(tmp_path)
    assert [stored.round_index for stored in store.records] == [0, 2]
    reasons = {item.path.name: item.reason for item in store.skipped}
    assert reasons.keys() == {"f" * 40, "other", "1.json"}
    assert "a link" in reasons["f" * 40] and reasons["other"] == reasons["f" * 40]
    assert "No such file" in reasons["1.json"]


def test_a_commit_is_read_in_the_working_folder_too(good, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (stored,) = read_store(".", commit=made_up.COMMIT).records
    assert stored.commit == made_up.COMMIT and stored.path.resolve() == good


def test_truncated_foreign_and_misplaced_files_are_skipped_with_reasons(good, tmp_path):
    text = good.read_text()
    (good.parent / "1.json").write_text(text[: len(text) // 2])
    (good.parent / "2.json").write_text("")
    (good.parent / "3.json").write_text('{"schema": 999}')
    (good.parent / "4.json").write_bytes(b"\xff\xfe\x00")
    (good.parent / "last.json").write_text(text)
    (tmp_path / "stray.json").write_text(text)
    (good.parent / "5.json").mkdir()
    (good.parent / "6.unreadable").write_text("{")
    (good.parent / "7.stale").write_text("{}")
    (good.parent / "8.4711.tmp").write_text('{"schema"')  # an interrupted write is ignored
    store = read_store(tmp_path)
    assert [stored.round_index for stored in store.records] == [0]
    reasons = {item.path.name: item.reason for item in store.skipped}
    assert set(reasons) == {f"{i}.json" for i in range(1, 6)} | {
        *("last.json", "stray.json", "6.unreadable", "7.stale")
    }
    assert "truncated" in reasons["1.json"] and "999" in reasons["3.json"]
    assert "round" in reasons["last.json"] and "<commit>" in reasons["stray.json"]
    assert "could not be read" in reasons["6.unreadable"] and "parameters" in reasons["7.stale"]
    assert all("\n" not in reason and str(tmp_path) not in reason for reason in reasons.values())
    folder = good.parent.relative_to(tmp_path)
    assert {item.path.parent for item in store.skipped} == {folder, folder.parents[-1]}


@pytest.mark.parametrize(
    "change, said",
    [
        (setting("params", "digits", value="six"), "got `str` - at `record.params.digits`"),
        (setting("params", "digits", value=6.5), "got `float` - at `record.params.digits`"),
        (setting("params", "digits", value=True), "got `bool` - at `record.params.digits`"),
        (setting("params", "digits", value=100), "`int` <= 99 - at `record.params.digits`"),
        (
            setting("params", "half_period", value="yes"),
            "got `str` - at `record.params.half_period`",
        ),
        (setting("params", "workload", value=7), "got `int` - at `record.params.workload`"),
        (setting("params", "variant", value=1.0), "at `record.params.variant`"),
        (setting("extras", "foo_bytes", value="Infinity"), "foo_bytes is inf"),
        (setting("extras", "foo_bytes", value=1e300), "foo_bytes is 1e+300"),
        (setting("checks", "foo_count", value=-1e300), "foo_count is -1e+300"),
        (setting("constants", "captured_bytes", value=10**30), "captured_bytes is 1000000"),
        (setting("program", "fusions_count", value=2**63 - 1), "fusions_count is 92233720368547"),
        (setting("environment", "ram_bytes", value=10**400), "ram_bytes is 1000000"),
        (setting("samples_seconds", value=[1.0, 1e200]), "<= 1000000000.0 - at `record.samples_se"),
        (setting("samples_seconds", value=[math.inf]), "Infinity"),
        (setting("samples_seconds", value=[math.nan]), "NaN"),
        (setting("samples_seconds", value=["NaN"]), ">= 0.0 - at `record.samples_seconds[0]`"),
        (setting("setup_seconds", value=-1.0), ">= 0.0 - at `record.setup_seconds`"),
        (setting("wall_seconds", value=10**400), "number out of range - at `record.wall_seconds`"),
    ],
)
def test_a_record_with_a_value_of_another_type_or_out_of_range_is_skipped(
    good, tmp_path, change, said
):
    path = write_changed(good, change)
    skipped = only_skipped(tmp_path)
    assert skipped.path == path.relative_to(tmp_path) and said in skipped.reason


@pytest.mark.parametrize("started", ["yesterday", "2026-W47-5T10:00:00", ""])
def test_a_start_that_is_no_time_counts_as_unknown(good, tmp_path, started):
    write_changed(good, setting("environment", "started_utc", value=started))
    table = tables.measurements(read_store(tmp_path))
    assert list(table["started_utc"].isna()) == [False, True]


@pytest.mark.parametrize("name", ["99999999999999999999.json", "00.json", "1_0.json", "٣.json"])
def test_a_file_whose_name_is_no_round_is_skipped(good, tmp_path, name):
    write_changed(good, dict.copy, name)
    assert "not the number of a round" in only_skipped(tmp_path).reason


def test_a_folder_of_stores_is_no_store(tmp_path):
    for store, commit in (("records", "a" * 40), ("pair/base", "b" * 40)):
        made_up.write(tmp_path / store, made_up.casing_case("closure", 3), commit=commit)
    with pytest.raises(ReportError, match=r"another store, in the folder pair/base; name another"):
        read_store(tmp_path)
    made_up.write(tmp_path, made_up.casing_case("closure", 3), commit="local")
    (stored,) = read_store(tmp_path).records
    assert stored.commit == "local"
    number = dataclasses.replace(made_up.casing_case("closure", 3), name="sweep/10000000")
    made_up.write(tmp_path, number, commit="local")
    assert {one.case for one in read_store(tmp_path).records} == {stored.case, number.name}


def test_a_folder_whose_name_is_not_utf8_is_skipped(good, tmp_path):
    folder = os.fsencode(good.parent.parent) + b"/\xff"
    try:
        os.mkdir(folder)
    except OSError:
        pytest.skip("the file system takes no such name")
    with open(folder + b"/0.json", "wb") as stream:
        stream.write(good.read_bytes())
    skipped = only_skipped(tmp_path)
    assert "not UTF-8" in skipped.reason
    str(skipped.path).encode("utf-8")


def test_an_unpaired_surrogate_is_read_as_a_question_mark(good, tmp_path):
    failure = {"phase": "setup", "kind": "OSError", "message": "no \udcff, \U0001f600"}
    write_changed(good, setting("failure", value=failure))
    store = read_store(tmp_path)
    assert store.skipped == ()
    messages = set(tables.measurements(store)["failure_message"].dropna())
    assert messages == {"no ?, \U0001f600"}


def test_a_check_that_is_nan_is_a_finding_and_kept(good, tmp_path):
    write_changed(good, setting("checks", value={"error_relative": "NaN", "spare_bytes": "NaN"}))
    table = tables.measurements(read_store(tmp_path))
    assert len(table) == 2 and math.isnan(table["error_relative"].iloc[1])


def test_a_truncated_file_is_renamed_and_listed_by_every_later_report(good, tmp_path, patient):
    text, path = good.read_text(), good.parent / "1.json"
    for length in (500, 1000):  # the second file does not replace the first file
        path.write_text(text[:length])
        reasons = [item.reason for item in read_store(tmp_path).skipped]
        assert sum("truncated" in reason for reason in reasons) == 1
        assert not path.exists()
    sizes = sorted(p.stat().st_size for p in good.parent.glob("*.unreadable"))
    assert sizes == [500, 1000]
    assert {item.path.suffix for item in read_store(tmp_path).skipped} == {".unreadable"}


def test_a_file_that_may_still_grow_keeps_its_name(good, tmp_path):
    path = write_changed(good, dict.copy)
    text = path.read_text()
    path.write_text(text[:1000])
    assert only_skipped(tmp_path).path.name == "1.json" and path.exists()
    path.write_text(text)
    assert len(read_store(tmp_path).records) == 2


def test_a_read_only_store_is_read(good, tmp_path, patient, monkeypatch):
    def refused(*_):
        raise PermissionError("read-only")

    (good.parent / "1.json").write_text("{")
    monkeypatch.setattr(load.Path, "replace", refused)
    assert only_skipped(tmp_path).path.name == "1.json"


@pytest.mark.parametrize(
    "change", [setting("memory", "new_bytes", value=1), setting("schema", value=3)]
)
def test_a_record_of_a_newer_jaxmeter_is_skipped_and_stays(good, tmp_path, patient, change):
    newer = write_changed(good, change)
    before = newer.read_bytes()
    for _ in range(2):
        assert "with the version of jaxmeter that wrote" in only_skipped(tmp_path).reason
        assert newer.read_bytes() == before


@pytest.mark.parametrize(
    "text, is_truncated",
    [
        *((text, True) for text in (b'{"name"', b"", b"\0\0\0", b"\xff\xfe\x00")),
        *((text, False) for text in (b"{}", b"[]", b"3", b'{"schema": 999}', b"[" * 200_000)),
    ],
)
def test_only_text_that_is_no_json_counts_as_truncated(good, tmp_path, text, is_truncated):
    (good.parent / "1.json").write_bytes(text)
    assert only_skipped(tmp_path).is_truncated == is_truncated


def test_a_store_without_readable_records_is_an_error_that_says_what_to_try(tmp_path):
    with pytest.raises(ReportError, match="not a folder; measure first"):
        read_store(tmp_path / "nowhere")
    with pytest.raises(ReportError, match="contains no records; run make report"):
        read_store(tmp_path)
    broken = tmp_path / "commit" / "key" / "case" / "0.json"
    broken.parent.mkdir(parents=True)
    broken.write_text("{")
    with pytest.raises(ReportError, match=r"none of the 1 files .* could be read; the first is "):
        read_store(tmp_path)
