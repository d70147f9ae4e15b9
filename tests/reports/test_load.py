"""Stores as they are found: half written, set aside, empty, of another program."""

import dataclasses
import json
import os

import pandas as pd
import pytest

from reports import ReportError, read_asv, read_store


def test_a_record_knows_its_commit_environment_cell_and_round(made_up, tmp_path):
    path = made_up.write(tmp_path, made_up.casing_case("closure", 6), 4)
    (stored,) = read_store(tmp_path).records
    assert (stored.commit, stored.environment_key) == (made_up.commit, made_up.key)
    assert (stored.case, stored.round_index) == ("casing_variants/w7x-closure-d6", 4)
    assert stored.path == path
    assert stored.record == made_up.casing_case("closure", 6)


def test_truncated_foreign_and_misplaced_files_are_set_aside_with_reasons(made_up, tmp_path):
    good = made_up.write(tmp_path, made_up.casing_case("closure", 6), 0)
    text = good.read_text()
    (good.parent / "1.json").write_text(text[: len(text) // 2])
    (good.parent / "2.json").write_text("")
    (good.parent / "3.json").write_text('{"schema": 999}')
    (good.parent / "4.json").write_bytes(b"\xff\xfe\x00")
    (good.parent / "last.json").write_text(text)
    (tmp_path / "stray.json").write_text(text)
    (good.parent / "5.json").mkdir()
    store = read_store(tmp_path)
    assert [stored.round_index for stored in store.records] == [0]
    reasons = {item.path.name: item.reason for item in store.set_aside}
    assert set(reasons) == {f"{i}.json" for i in range(1, 6)} | {"last.json", "stray.json"}
    assert "truncated" in reasons["1.json"] and "999" in reasons["3.json"]
    assert "round" in reasons["last.json"] and "<commit>" in reasons["stray.json"]
    assert all("\n" not in reason for reason in reasons.values())


@pytest.mark.parametrize(
    "name, value, said",
    [
        ("digits", "six", "the parameter digits is 'six', which is no int"),
        ("digits", 6.5, "digits is 6.5"),
        ("digits", True, "digits is True"),
        ("digits", 10**400, "not from 1 to 99"),
        ("half_period", "yes", "half_period is 'yes', which is no bool"),
        ("workload", 7, "workload is 7, which is no str"),
        ("variant", 1.0, "variant is 1.0"),
    ],
)
def test_parameters_of_another_kind_are_set_aside(made_up, tmp_path, name, value, said):
    made_up.write(tmp_path, made_up.casing_case("closure", 6), 0)
    case = made_up.casing_case("closure", 6)
    odd = dataclasses.replace(case, params={**case.params, name: value})
    made_up.write(tmp_path, odd, 1)
    store = read_store(tmp_path)
    assert [stored.round_index for stored in store.records] == [0]
    (aside,) = store.set_aside
    assert aside.path.name == "1.json" and said in aside.reason


def test_a_start_that_is_no_time_is_set_aside(made_up, tmp_path):
    made_up.write(tmp_path, made_up.casing_case("closure", 6), 0)
    when = made_up.environment(started_utc="yesterday")
    odd = dataclasses.replace(made_up.casing_case("closure", 6), environment=when)
    made_up.write(tmp_path, odd, 1)
    (aside,) = read_store(tmp_path).set_aside
    assert "'yesterday', which is no ISO 8601 time" in aside.reason


def test_files_set_aside_are_named_within_the_store(made_up, tmp_path):
    good = made_up.write(tmp_path, made_up.casing_case("closure", 6), 0)
    (good.parent / "1.json").mkdir()
    (good.parent / "2.json").write_text("{")
    (good.parent / "3.stale").write_text("{}")
    for aside in read_store(tmp_path).set_aside:
        assert aside.path.parent == good.parent.relative_to(tmp_path)
        assert str(tmp_path) not in aside.reason


def test_a_write_that_never_ended_is_no_record_and_no_complaint(made_up, tmp_path):
    good = made_up.write(tmp_path, made_up.casing_case("closure", 6), 0)
    (good.parent / "1.4711.tmp").write_text('{"schema"')
    assert read_store(tmp_path).set_aside == ()


def test_what_the_benchmarks_set_aside_is_told(made_up, tmp_path):
    good = made_up.write(tmp_path, made_up.casing_case("closure", 6), 0)
    (good.parent / "1.unreadable").write_text("{")
    (good.parent / "2.stale").write_text("{}")
    reasons = {item.path.name: item.reason for item in read_store(tmp_path).set_aside}
    assert "cut short" in reasons["1.unreadable"] and "parameters" in reasons["2.stale"]


def test_no_folder_no_record_and_nothing_readable_are_errors_that_say_what_to_do(tmp_path):
    with pytest.raises(ReportError, match="no folder; measure first"):
        read_store(tmp_path / "nowhere")
    with pytest.raises(ReportError, match="holds no records; measure first"):
        read_store(tmp_path)
    broken = tmp_path / "commit" / "key" / "case" / "0.json"
    broken.parent.mkdir(parents=True)
    broken.write_text("{")
    with pytest.raises(ReportError, match=r"none of the 1 files .* could be read; the first, "):
        read_store(tmp_path)


def asv_folder(root, commit="c" * 40):
    """A results folder as asv 0.6 writes it: one benchmark with samples, one plain number."""
    machine = root / "bench"
    machine.mkdir(parents=True)
    (root / "benchmarks.json").write_text(
        json.dumps(
            {
                "casing.V.track_compile_seconds": {"unit": "seconds"},
                "casing.V.track_captured_bytes": {"unit": "bytes"},
                "version": 2,
            }
        )
    )
    (machine / "machine.json").write_text(json.dumps({"machine": "bench", "version": 1}))
    params = [["'closure'", "'argument'"], ["3"]]
    columns = ["result", "params", "version", "started_at", "duration"]
    columns += ["stats_ci_99_a", "stats_ci_99_b", "stats_q_25", "stats_q_75"]
    columns += ["stats_number", "stats_repeat", "samples", "profile"]
    times = [[2.0, 1.0], params, "1", 1.7e12, 3.0, [1.9, 0.9], [2.1, None], [1.95, 0.95]]
    times += [[2.05, 1.05], [1, 1], [6, 6], [[1.9, 2.0, 2.1], [0.9, 1.0, 1.1]]]
    sizes = [[1000, None], params, "1", 1.7e12, 1.0]
    written = {
        "commit_hash": commit,
        "env_name": "virtualenv-py3.11-jax0.10.2",
        "date": 1763632800000,
        "params": {"machine": "bench"},
        "python": "3.11",
        "requirements": {"jax": "0.10.2"},
        "env_vars": {},
        "result_columns": columns,
        "results": {
            "casing.V.track_compile_seconds": times,
            "casing.V.track_captured_bytes": sizes,
        },
        "durations": {},
        "version": 2,
    }
    (machine / f"{commit[:8]}-env.json").write_text(json.dumps(written))
    return root


def test_asv_values_come_with_unit_interval_and_parameters(tmp_path):
    table = read_asv(asv_folder(tmp_path / "results")).table
    assert len(table) == 4
    closure = table[(table["parameters"] == "closure, 3") & (table["unit"] == "seconds")].iloc[0]
    assert (closure["value"], closure["interval_low"], closure["interval_high"]) == (2.0, 1.9, 2.1)
    assert closure["samples_count"] == 6
    assert closure["commit"] == "c" * 40 and closure["machine"] == "bench"
    assert closure["commit_date_utc"].isoformat() == "2025-11-20T10:00:00+00:00"
    skipped = table[(table["parameters"] == "argument, 3") & (table["unit"] == "bytes")]
    assert len(skipped) == 1 and pd.isna(skipped.iloc[0]["value"])


def test_a_half_written_asv_file_is_set_aside(tmp_path):
    root = asv_folder(tmp_path / "results")
    (root / "bench" / "broken.json").write_text('{"commit_hash": "ab')
    (root / "bench" / "foreign.json").write_text('{"version": 2}')
    read = read_asv(root)
    assert len(read.table) == 4
    names = sorted(str(item.path) for item in read.set_aside)
    assert names == [os.path.join("bench", name) for name in ("broken.json", "foreign.json")]
    assert not any(str(tmp_path) in item.reason for item in read.set_aside)


def test_asv_without_a_list_of_benchmarks_still_gives_values(tmp_path):
    root = asv_folder(tmp_path / "results")
    (root / "benchmarks.json").write_text("{")
    table = read_asv(root).table
    assert len(table) == 4 and set(table["unit"]) == {""}


def test_an_asv_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(ReportError, match="leave --asv out"):
        read_asv(tmp_path / "nowhere")
