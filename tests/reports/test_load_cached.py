"""The cached table of a store: the same as without a cache, whatever happened to either."""

import concurrent.futures
import dataclasses
import json
import os
import random
import time
from types import SimpleNamespace

import pandas as pd
import pytest

from jaxmeter import Record
from reports import ReportError, load_cached, plain_records, read_store, tables
from reports.load_cached import CACHE, read_measurements


def settle(root, *, seconds=3600.0):
    """Let every file look as if it had been written an hour ago."""
    for path in root.rglob("*.json"):
        when = time.time() - seconds
        os.utime(path, (when, when))


@pytest.fixture
def patient(monkeypatch):
    """No file is too young to be trusted or set aside: what an old store looks like."""
    monkeypatch.setattr(load_cached, "TICK_SECONDS", -1.0)
    monkeypatch.setattr(load_cached, "SETTLED_SECONDS", -1.0)


@pytest.fixture
def store(made_up, tmp_path):
    root = tmp_path / "cases"
    for i in range(3):
        made_up.write(root, made_up.casing_case("closure", 3, i), i)
        made_up.write(root, made_up.chunk_case("auto", 80, i), i)
    made_up.write(root, made_up.failed("a/b", {"digits": 3}))
    return root


def assert_same(table, root):
    """`table` is what the store holds, read without any cache."""
    expected = tables.measurements(read_store(root))
    pd.testing.assert_frame_equal(
        table.sort_values(["case", "round_index"], ignore_index=True)[list(expected.columns)],
        expected.sort_values(["case", "round_index"], ignore_index=True),
        check_dtype=False,
    )


def count_parsed(monkeypatch):
    parsed = []
    plain = plain_records.plain_record
    monkeypatch.setattr(plain_records, "plain_record", lambda t: parsed.append(1) or plain(t))
    return parsed


def test_a_cached_table_is_that_of_the_records_with_the_same_types(store, patient, monkeypatch):
    cold = read_measurements(store).table
    parsed = count_parsed(monkeypatch)
    warm = read_measurements(store).table
    assert not parsed
    pd.testing.assert_frame_equal(cold, warm, check_dtype=False)
    assert_same(warm, store)
    assert str(warm["captured_bytes"].dtype) == "Int64"
    assert str(warm["started_utc"].dtype).startswith("datetime64")


def test_added_changed_and_removed_files_show_and_only_they_are_parsed(
    made_up, store, patient, monkeypatch
):
    read_measurements(store)
    parsed = count_parsed(monkeypatch)
    made_up.write(store, made_up.reference_case(6))
    made_up.write(store, made_up.casing_case("closure", 3, 1, temp_bytes=77), 1)
    next(store.rglob("chunk_sweep/*/2.json")).unlink()
    assert_same(read_measurements(store).table, store)
    assert len(parsed) == 2
    assert_same(read_measurements(store).table, store)
    assert len(parsed) == 2


def test_a_touched_file_of_the_same_content_is_not_parsed_again(store, patient, monkeypatch):
    read_measurements(store)
    parsed = count_parsed(monkeypatch)
    settle(store)
    assert_same(read_measurements(store).table, store)
    assert not parsed
    monkeypatch.setattr(load_cached, "_read_row", None)  # nor even read, from then on
    assert_same(read_measurements(store).table, store)


def test_touched_added_changed_and_removed_files_at_once(made_up, store, patient):
    read_measurements(store)
    settle(store)
    made_up.write(store, made_up.reference_case(6))
    made_up.write(store, made_up.casing_case("closure", 3, 1, temp_bytes=77), 1)
    next(store.rglob("chunk_sweep/*/2.json")).unlink()
    for _ in range(2):
        assert_same(read_measurements(store).table, store)


def test_a_change_within_one_tick_that_keeps_size_and_time_is_seen(made_up, tmp_path):
    case = made_up.casing_case("closure", 3, temp_bytes=11)
    path = made_up.write(tmp_path, case)
    state = path.stat()
    assert list(read_measurements(tmp_path).table["temp_bytes"]) == [11]
    text = dataclasses.replace(case, memory=dataclasses.replace(case.memory, temp_bytes=22))
    with open(path, "r+", encoding="utf-8") as stream:
        stream.write(text.to_json())
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert path.stat().st_size == state.st_size
    assert list(read_measurements(tmp_path).table["temp_bytes"]) == [22]


@pytest.mark.parametrize("harm", ["cut", "empty", "foreign", "unsealed", "other code"])
def test_a_cache_that_cannot_be_used_is_made_again(store, patient, harm, monkeypatch):
    read_measurements(store)
    path = store / CACHE
    if harm == "cut":
        path.write_bytes(path.read_bytes()[:-40])
    elif harm == "empty":
        path.write_bytes(b"")
    elif harm == "foreign":
        pd.DataFrame({"file": ["x"]}).to_parquet(path)
    elif harm == "unsealed":
        path.write_bytes(path.read_bytes()[load_cached.SEAL_BYTES :])
    else:
        monkeypatch.setattr(load_cached, "_version", lambda: b"another")
    parsed = count_parsed(monkeypatch)
    assert_same(read_measurements(store).table, store)
    assert len(parsed) == 7
    read_measurements(store)
    assert len(parsed) == 7


def test_no_damage_of_the_cache_goes_unnoticed(store, patient):
    read_measurements(store)
    path, version = store / CACHE, load_cached._version()
    whole = path.read_bytes()
    assert load_cached._read_cache(path, version) is not None
    rng = random.Random(0)
    for _ in range(100):
        damaged = bytearray(whole)
        damaged[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged[: rng.choice((len(whole), rng.randrange(len(whole))))])
        assert load_cached._read_cache(path, version) is None


def test_another_code_that_makes_rows_makes_another_cache(tmp_path, monkeypatch):
    maker = tmp_path / "maker.py"
    monkeypatch.setattr(load_cached, "MAKERS", (SimpleNamespace(__file__=str(maker)),))
    versions = []
    for text in ("columns = 1", "columns = 2", "columns = 1"):
        maker.write_text(text)
        versions.append(load_cached._version())
    assert versions[0] == versions[2] != versions[1]


def test_whoever_may_read_the_records_may_read_the_cache(store):
    read_measurements(store)
    assert (store / CACHE).stat().st_mode == next(store.rglob("*.json")).stat().st_mode


def test_half_written_files_are_moved_out_of_the_way_and_told_again(made_up, store, patient):
    path = made_up.write(store, made_up.casing_case("closure", 6))
    path.write_text(path.read_text()[:1000])
    (aside,) = read_measurements(store).set_aside
    moved = path.with_suffix(".unreadable")
    assert moved.stat().st_size == 1000 and not path.exists()
    assert store / aside.path == moved and "truncated" in aside.reason
    (again,) = read_measurements(store).set_aside
    assert again.path == aside.path


def test_a_file_that_may_still_grow_and_one_out_of_place_stay_where_they_are(made_up, store):
    path = made_up.write(store, made_up.casing_case("closure", 6))
    text = path.read_text()
    path.write_text(text[:1000])
    (store / "stray.json").write_text(text)
    told = {item.path.name for item in read_measurements(store).set_aside}
    assert told == {"0.json", "stray.json"} and path.exists()
    path.write_text(text)
    assert "casing_variants/w7x-closure-d6" in set(read_measurements(store).table["case"])


def test_several_readers_at_once_all_get_the_whole_table(store):
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: read_measurements(store).table, range(8)))
    assert all(len(table) == 7 for table in found)
    assert [p.name for p in store.iterdir() if p.is_file()] == [CACHE]


def test_a_store_that_may_not_be_written_is_read_all_the_same(store, monkeypatch):
    def refused(*_):
        raise PermissionError("read-only")

    monkeypatch.setattr(load_cached, "draft_of", refused)
    assert_same(read_measurements(store).table, store)
    assert not (store / CACHE).exists()


def test_no_folder_and_no_record_are_errors_that_say_what_to_do(tmp_path):
    with pytest.raises(ReportError, match="no folder; measure first"):
        read_measurements(tmp_path / "nowhere")
    with pytest.raises(ReportError, match="holds no records; measure first"):
        read_measurements(tmp_path)


def test_plain_data_are_those_of_jaxmeters_reader(made_up):
    odd = made_up.record("a/b", {}, checks={"error_relative": float("inf")})
    for record in (made_up.casing_case("closure", 6), made_up.failed("a", {}), odd):
        text = record.to_json()
        assert plain_records.plain_record(text) == plain_records.as_plain(Record.from_json(text))


@pytest.mark.parametrize(
    "change",
    [
        {"schema": 2},
        {"status": "fine"},
        {"samples_seconds": ["0.1"]},
        {"phases": {"trace_seconds": "long"}},
        {"unknown": 1},
        {"params": [1]},
    ],
)
def test_data_that_jaxmeter_refuses_are_refused_in_its_words(made_up, change):
    data = json.loads(made_up.casing_case("closure", 3).to_json()) | change
    with pytest.raises(Exception, match=r"Record\.from_json: got"):
        plain_records.plain_record(json.dumps(data))


def test_absent_fields_and_whole_numbers_for_floats_are_filled_in_and_converted(made_up):
    data = json.loads(made_up.casing_case("closure", 3).to_json())
    del data["extras"]
    data["setup_seconds"] = 2
    plain = plain_records.plain_record(json.dumps(data))
    assert plain["extras"] == {}
    assert plain["setup_seconds"] == 2.0 and type(plain["setup_seconds"]) is float


def test_a_second_half_written_file_does_not_replace_the_first(made_up, store, patient):
    for length in (500, 1000):
        path = made_up.write(store, made_up.casing_case("closure", 6))
        path.write_text(path.read_text()[:length])
        read_measurements(store)
    sizes = sorted(p.stat().st_size for p in path.parent.glob("*.unreadable"))
    assert sizes == [500, 1000]
