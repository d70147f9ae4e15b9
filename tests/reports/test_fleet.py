"""A fleet holds every record once, and is read like a store without machines that scatter."""

import dataclasses
import math
import random

import pandas as pd
import pytest

from reports import ReportError, read_store
from reports.__main__ import main
from reports.history import make_history
from reports.store.fleet import compact, read_any
from tests.reports import made_up
from tests.reports.history.stores import write_stepped

pytest.importorskip("duckdb", reason="needs the extra fleet")


def store_of(root, *, count=4, scatter=0.0, **environment):
    """Write some processes of one case, and return the store.

    `scatter` is the standard deviation of the logarithms of the times.
    """
    rng = random.Random(1)
    for i in range(count):
        steady = 0.1 * math.exp(rng.gauss(0, scatter))
        started = f"2026-1{i % 2}-02T10:{i:02d}:00+00:00"
        case = made_up.casing_case("argument", 3)
        case = made_up.in_environment(case, started_utc=started, **environment)
        made_up.write(root, dataclasses.replace(case, samples_seconds=(steady,) * 3), i)
    return root


def held(store):
    return sorted((s.commit, s.environment_key, s.case, s.record.to_json()) for s in store.records)


def test_a_record_counts_once_and_two_records_of_one_place_are_both_kept(tmp_path):
    a, b = store_of(tmp_path / "a"), store_of(tmp_path / "b")
    made_up.write(b, made_up.casing_case("argument", 3, temp_bytes=5), 3)
    fleet = tmp_path / "fleet"
    assert [compact([a], fleet, project="vcjax").added_count for _ in range(2)] == [4, 0]
    done = compact([b], fleet, project="vcjax")
    assert (done.added_count, done.same_count, done.refused) == (1, 3, ())
    months = sorted(path.parent.name for path in fleet.rglob("*.parquet"))
    assert months == ["month=2026-10", "month=2026-11"]
    assert held(read_any(fleet)) == sorted({*held(read_store(a)), *held(read_store(b))})


def test_a_fleet_has_the_history_of_its_stores(tmp_path, monkeypatch):
    store = read_store(write_stepped(tmp_path / "store"))
    compact([store.root], tmp_path / "fleet", project="vcjax")
    read = read_any(tmp_path / "fleet" / "project=vcjax")
    assert held(read) == held(store)
    assert make_history(read) == make_history(store)
    monkeypatch.chdir(read.root)
    assert held(read_any(".")) == held(store)


def test_a_machine_is_skipped_by_name_if_its_aa_runs_differ(tmp_path):
    quiet = store_of(tmp_path / "a", count=30, scatter=0.02)
    loud = store_of(tmp_path / "b", count=30, scatter=0.5, machine="loud")
    compact([quiet, loud], tmp_path / "fleet", project="vcjax")
    read = read_any(tmp_path / "fleet")
    assert held(read) == held(read_store(quiet))
    (aside,) = read.skipped
    assert aside.path.name.startswith("loud-") and "of its 29 A/A pairs" in aside.reason


def test_only_files_whose_records_were_added_are_deleted_and_only_with_remove(tmp_path):
    store = store_of(tmp_path / "a")
    (first, *_) = sorted(store.rglob("*.json"))
    first.write_text("{")
    command = ["compact", str(store), "--into", str(tmp_path / "fleet"), "--project", "vcjax"]
    assert main(command) == 1 and len(list(store.rglob("*.json"))) == 4
    assert main([*command, "--remove"]) == 1 and list(store.rglob("*.json")) == [first]


def test_several_projects_a_broken_file_and_a_bad_name_are_refused(tmp_path):
    store, fleet = store_of(tmp_path / "a"), tmp_path / "fleet"
    for project in ("one", "two"):
        compact([store], fleet, project=project)
    with pytest.raises(
        ReportError, match=r"2 projects; give the folder of one project, .*project=one"
    ):
        read_any(fleet)
    next((fleet / "project=one").rglob("*.parquet")).write_bytes(b"")
    with pytest.raises(ReportError, match="cannot be read as a fleet"):
        read_any(fleet / "project=one")
    with pytest.raises(ReportError, match=r"got --project '\.\./x'"):
        compact([store], fleet, project="../x")


def test_a_record_of_a_newer_version_is_skipped(tmp_path):
    store, fleet = store_of(tmp_path / "a"), tmp_path / "fleet"
    compact([store], fleet, project="one")
    path = next(fleet.rglob("*.parquet"))
    rows = pd.read_parquet(path)
    rows.loc[0, "record"] = rows.loc[0, "record"].replace('"schema": 2', '"schema": 99')
    assert '"schema": 99' in rows.loc[0, "record"]
    rows.to_parquet(path)
    read = read_any(fleet)
    assert len(read.records) == 3 and "99" in read.skipped[0].reason


def test_a_file_with_a_byte_order_mark_is_added_like_other_files(tmp_path):
    store, fleet = store_of(tmp_path / "a"), tmp_path / "fleet"
    path = next(store.rglob("0.json"))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    compact([store], fleet, project="one")
    assert len(read_any(fleet).records) == 4


def test_records_are_not_added_to_a_damaged_fleet(tmp_path):
    store, fleet = store_of(tmp_path / "a"), tmp_path / "fleet"
    compact([store], fleet, project="one")
    for path in fleet.rglob("*.parquet"):
        path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(ReportError, match="cannot be read or written"):
        compact([store], fleet, project="one")
