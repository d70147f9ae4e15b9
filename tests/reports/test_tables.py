"""Tidy tables: one row for each process, units in the names, no summary across processes."""

import dataclasses
import json
import re

import pandas as pd

from jaxmeter import Phases
from reports import read_store, tables
from reports.quantities import PARAMETERS
from tests.reports import made_up


def test_one_process_is_one_row(full_store, full_table):
    assert len(full_table) == len(list(full_store.rglob("*.json")))
    assert not full_table.duplicated(["commit", "environment_key", "case", "round_index"]).any()


def test_every_measured_column_ends_in_its_unit(full_table):
    text = {"commit", "environment_key", "suite", "case", "status", "machine", "platform"}
    text |= {"cpu_model", "backend", "device_kind", "xla_flags", "jax_options", "hlo_fingerprint"}
    text |= {"round_index", "captured_fingerprint", "not_a_number", *PARAMETERS}
    endings = (
        r".*_(seconds|bytes|count|relative|utc|version)|failure_.*|load_1min_.*|flops|.*per_wall"
    )
    strays = {c for c in full_table.columns if c not in text and not re.fullmatch(endings, c)}
    assert strays == set()


def test_a_row_has_the_values_of_its_record(full_table):
    row = full_table[
        (full_table["case"] == "casing_variants/w7x-closure-d6") & (full_table["round_index"] == 2)
    ].iloc[0]
    record = made_up.casing_case("closure", 6, 2)
    assert row["compile_seconds"] == record.phases.compile_seconds
    assert row["captured_bytes"] == made_up.CASING_BYTES[6]
    assert row["steady_median_seconds"] == sorted(record.samples_seconds)[2]
    assert row["steady_count"] == 5
    assert row["error_relative"] == record.checks["error_relative"]
    assert (row["variant"], row["digits"], bool(row["half_period"])) == ("closure", 6, True)
    assert row["jax_version"] == "0.10.2"


def test_bytes_stay_whole_where_others_are_missing(full_table):
    assert full_table["captured_bytes"].isna().any()
    assert full_table["captured_bytes"].dtype == pd.Int64Dtype()
    assert full_table["digits"].dtype == pd.Int64Dtype()


def test_a_number_named_like_a_column_gets_the_prefix_extras(tmp_path):
    names = ("commit", "case", "machine", "environment", "position")
    extras: dict[str, float] = dict.fromkeys(names, 7.0)
    made_up.write(tmp_path / "named", made_up.record("a/b", {}, extras=extras))
    made_up.write(tmp_path / "plain", made_up.record("a/b", {}))
    named, plain = (made_up.measured(tmp_path / one).iloc[0] for one in ("named", "plain"))
    for name in names:
        assert named[f"extras_{name}"] == 7.0
        assert named.get(name) == plain.get(name)


def test_unknown_parameters_become_columns_of_their_own(tmp_path):
    made_up.write(tmp_path, made_up.record("other/case", {"level": 64, "mode": None}))
    row = made_up.measured(tmp_path).iloc[0]
    assert row["parameter_level"] == "64" and pd.isna(row["parameter_mode"])
    assert pd.isna(row["workload"]) and row["suite"] == "other"


def test_a_row_holds_the_first_compile_which_is_cold(tmp_path):
    """A history must not jump at the first commit whose processes compile several times."""
    record = made_up.casing_case("argument", 3)
    again = tuple(Phases(0.1 * k, 0.2 * k, 0.3 * k) for k in (1, 3))
    made_up.write(tmp_path, dataclasses.replace(record, recompiles=again), 0)
    (row,) = made_up.measured(tmp_path).to_dict("records")
    assert row["compile_seconds"] == record.phases.compile_seconds


def test_a_check_and_an_extra_of_the_same_name_are_both_columns(tmp_path):
    entry = made_up.record("a/b", {}, checks={"x_relative": 1.0}, extras={"x_relative": 2.0})
    made_up.write(tmp_path, entry)
    row = made_up.measured(tmp_path).iloc[0]
    assert (row["x_relative"], row["extras_x_relative"]) == (1.0, 2.0)


def test_a_failed_process_keeps_the_measurements_before_the_failure(full_table):
    row = full_table[full_table["status"] == "timeout"].iloc[0]
    assert row["trace_seconds"] == 0.2 and pd.isna(row["compile_seconds"])
    assert (row["failure_phase"], row["failure_kind"]) == ("compile", "Timeout")


def test_samples_keep_every_run_in_order(tmp_path):
    made_up.write(tmp_path, made_up.casing_case("argument", 3), 3)
    table = tables.samples(read_store(tmp_path))
    expected = made_up.casing_case("argument", 3).samples_seconds
    assert tuple(table["steady_seconds"]) == expected
    assert list(table["sample_index"]) == [0, 1, 2, 3, 4]


def test_captured_arrays_are_listed_with_shape_type_and_bytes(tmp_path):
    made_up.write(tmp_path, made_up.casing_case("closure", 3))
    row = tables.captured_arrays(read_store(tmp_path)).iloc[0]
    assert json.loads(row["array_shape"]) == [made_up.CASING_BYTES[3] // 8]
    assert (row["array_dtype"], row["array_bytes"]) == ("float64", made_up.CASING_BYTES[3])


def test_the_table_of_failures_has_failed_processes_and_unreadable_files(tmp_path):
    made_up.write(tmp_path, made_up.casing_case("closure", 3))
    path = made_up.write(tmp_path, made_up.failed("a/b", {}, message="no\nwheel"), 1)
    (path.parent / "2.json").write_text("{")
    store = read_store(tmp_path)
    table = tables.failures(tables.measurements(store), store.skipped)
    assert list(table["status"]) == ["failed", "unreadable"]
    assert table["failure_message"].iloc[0] == "no\nwheel"
    assert table["case"].iloc[1].endswith("2.json")


def test_versions_come_from_the_last_process_that_recorded_them(tmp_path):
    made_up.write(tmp_path, made_up.casing_case("closure", 3))
    early, started = made_up.failed("a/b", {}), "2026-11-20T23:00:00+00:00"
    late = made_up.in_environment(early, jax=None, backend=None, started_utc=started)
    made_up.write(tmp_path, late, 0)
    made_up.write(tmp_path, dataclasses.replace(early, environment=None), 1)
    table = tables.environments(made_up.measured(tmp_path))
    assert table["jax_version"].iloc[0] == "0.10.2" and table["backend"].iloc[0] == "cpu"


def test_a_record_without_environment_is_still_a_row(tmp_path):
    made_up.write(tmp_path, dataclasses.replace(made_up.failed("a/b", {}), environment=None))
    store = read_store(tmp_path)
    measured = tables.measurements(store)
    assert pd.isna(measured["jax_version"].iloc[0]) and pd.isna(measured["started_utc"].iloc[0])
    assert tables.environments(measured)["processes_count"].iloc[0] == 1
