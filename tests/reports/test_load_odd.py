"""Files that no benchmark writes, or a newer one does: told, never in the way of the others."""

import json
import math
import os
import time

import pytest

from reports import read_store, tables
from reports.load_cached import read_measurements
from reports.machines import with_setting
from reports.plain_records import CutShort, plain_record, whole_record


@pytest.fixture
def good(made_up, tmp_path):
    """The path of one good record, an hour old, in a store of its own."""
    path = made_up.write(tmp_path, made_up.casing_case("closure", 3))
    when = time.time() - 3600
    os.utime(path, (when, when))
    return path


def write_changed(good, change, name="1.json"):
    """Another round beside the good one: the same record but for what `change` does to its data."""
    data = json.loads(good.read_text())
    change(data)
    path = good.parent / name
    path.write_text(json.dumps(data))
    return path


def told(root):
    """What both readers say of the only file they leave out; they keep the good one."""
    store, measured = read_store(root), read_measurements(root)
    assert len(with_setting(tables.measurements(store))) == len(measured.table) == 1
    (one,), (other,) = store.set_aside, measured.set_aside
    assert one == other
    return one.reason


def harm(*path, value):
    def change(data):
        *folders, last = path
        for name in folders:
            data = data[name]
        data[last] = value

    return change


STARTED = ("environment", "started_utc")


@pytest.mark.parametrize(
    "change, said",
    [
        (harm(*STARTED, value="2026-W47-5T10:00:00"), "no ISO 8601 time"),
        (harm(*STARTED, value="0001-01-01T00:00:00+00:00"), "no clock gives"),
        (harm(*STARTED, value="9999-12-31T23:59:59+00:00"), "no clock gives"),
        (harm(*STARTED, value=""), "no clock gives"),
        (harm("extras", "foo_bytes", value="Infinity"), "foo_bytes is inf"),
        (harm("extras", "foo_bytes", value=1e300), "foo_bytes is 1e+300"),
        (harm("checks", "foo_count", value=-1e300), "foo_count is -1e+300"),
        (harm("constants", "captured_bytes", value=10**30), "captured_bytes is 1000000"),
        (harm("program", "fusions_count", value=2**63 - 1), "fusions_count is 92233720368547"),
        (harm("environment", "ram_bytes", value=10**400), "ram_bytes is 1000000"),
        (harm("samples_seconds", value=[1e200, 1.0]), "samples_seconds holds 1e+200"),
        (harm("samples_seconds", value=["NaN"]), "samples_seconds holds nan"),
        (harm("setup_seconds", value=-1.0), "setup_seconds holds -1.0"),
        (harm("wall_seconds", value=10**400), "none of a measurement"),
    ],
)
def test_values_that_no_table_can_hold_are_set_aside_alone(good, tmp_path, change, said):
    write_changed(good, change)
    assert said in told(tmp_path)


def test_text_nested_without_end_is_set_aside_alone(good, tmp_path):
    (good.parent / "1.json").write_text("[" * 200_000)
    assert "nested deeper" in told(tmp_path)


@pytest.mark.parametrize("name", ["99999999999999999999.json", "00.json", "1_0.json", "٣.json"])
def test_names_that_are_no_rounds_are_set_aside_alone(good, tmp_path, name):
    write_changed(good, dict.copy, name)
    assert "not the number of a round" in told(tmp_path)


def test_a_folder_whose_name_no_page_can_show_is_set_aside_alone(good, tmp_path):
    folder = os.fsencode(good.parent.parent) + b"/\xff"
    try:
        os.mkdir(folder)
    except OSError:
        pytest.skip("the file system takes no such name")
    with open(folder + b"/0.json", "wb") as stream:
        stream.write(good.read_bytes())
    assert "not UTF-8" in told(tmp_path)
    (aside,) = read_measurements(tmp_path).set_aside
    str(aside.path).encode("utf-8")


def test_text_with_half_a_character_is_read_as_one_that_can_be_written(good, tmp_path):
    failure = {"phase": "setup", "kind": "OSError", "message": "no \udcff, \U0001f600"}
    write_changed(good, harm("failure", value=failure))
    read = read_measurements(tmp_path)
    assert read.set_aside == ()
    assert "no ?, \U0001f600" in set(read.table["failure_message"])


def test_a_check_that_is_not_a_number_is_a_finding_and_kept(good, tmp_path):
    write_changed(good, harm("checks", value={"error_relative": "NaN", "spare_bytes": "NaN"}))
    table = read_measurements(tmp_path).table
    assert len(table) == 2 and math.isnan(table["error_relative"].iloc[1])


@pytest.mark.parametrize(
    "change",
    [harm("memory", "new_bytes", value=1), harm("schema", value=2)],
    ids=["field", "schema"],
)
def test_records_of_a_newer_meter_are_told_and_stay_as_they_are(good, tmp_path, change):
    newer = write_changed(good, change)
    when = time.time() - 3600
    os.utime(newer, (when, when))
    before = newer.read_bytes()
    for _ in range(2):
        assert "read it with the jaxmeter that wrote it" in told(tmp_path)
        assert newer.read_bytes() == before
    assert not list(tmp_path.rglob("*.unreadable"))


def test_only_text_that_is_no_json_counts_as_cut_short(good):
    text = good.read_text()
    for short in (text[:-1], "", "\0\0\0", b"\xff\xfe\x00"):
        with pytest.raises(CutShort):
            plain_record(short)
    for foreign in ("{}", "[]", "3", "null", '{"schema": 999}', "[" * 200_000):
        with pytest.raises(Exception) as caught:
            whole_record(foreign)
        assert not isinstance(caught.value, CutShort)
