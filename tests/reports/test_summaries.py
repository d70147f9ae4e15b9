"""Summaries: medians of process medians, paired ratios, and the processes left out."""

import dataclasses
import math

import pandas as pd
import pytest

from reports.closure.summaries import variants
from reports.sections import accuracy, chunks, preparation, reference
from tests.reports import made_up
from tests.reports.made_up import measured


def test_ratios_to_the_argument_variant_are_paired_by_round(tmp_path):
    for i, drift in enumerate((1.0, 2.0, 4.0, 1.5, 3.0, 2.5)):
        for variant, seconds in (("closure", 3.0), ("argument", 2.0)):
            case = made_up.casing_case(variant, 6, 0, compile_seconds=seconds * drift)
            made_up.write(tmp_path, case, i)
    table = variants(measured(tmp_path)).set_index("variant")
    row = table.loc["closure"]
    assert row["compile_to_argument_ratio"] == pytest.approx(1.5)
    assert row["compile_to_argument_low_ratio"] == pytest.approx(1.5)
    assert row["compile_to_argument_pairs_count"] == 6
    assert table.loc["argument", "compile_to_argument_ratio"] == 1.0
    assert row["compile_low_seconds"] < row["compile_median_seconds"] < row["compile_high_seconds"]


def test_steady_seconds_are_the_median_of_process_medians(tmp_path):
    for i, seconds in enumerate((1.0, 5.0, 2.0)):
        case = made_up.casing_case("argument", 6, 0, steady_seconds=seconds)
        made_up.write(tmp_path, case, i)
    row = variants(measured(tmp_path)).iloc[0]
    assert row["steady_median_seconds"] == 2.0
    assert (row["steady_low_seconds"], row["steady_high_seconds"]) == (1.0, 5.0)
    assert row["interval_coverage_ratio"] == 0.75 and row["processes_count"] == 3


def test_variants_are_ordered_closure_argument_simplified(full_table):
    table = variants(full_table)
    assert list(table["variant"].iloc[:3]) == ["closure", "argument", "simplified"]
    assert len(table) == 12 and list(table["digits"].unique()) == [3, 6, 9, 12]


def test_failed_processes_count_nowhere_and_without_an_argument_there_is_no_ratio(tmp_path):
    case = made_up.casing_case("closure", 6)
    made_up.write(tmp_path, case)
    made_up.write(tmp_path, made_up.failed(case.name, case.params), 1)
    row = variants(measured(tmp_path)).iloc[0]
    assert row["processes_count"] == 1 and row["captured_bytes"] == made_up.CASING_BYTES[6]
    assert math.isnan(row["compile_to_argument_ratio"])
    assert row["compile_to_argument_pairs_count"] == 0


def test_commits_and_environments_are_never_pooled(tmp_path):
    made_up.write(tmp_path, made_up.casing_case("closure", 6, compile_seconds=1.0), commit="a" * 40)
    made_up.write(tmp_path, made_up.casing_case("closure", 6, compile_seconds=9.0), commit="b" * 40)
    table = variants(measured(tmp_path))
    assert sorted(table["compile_median_seconds"]) == [1.0, 9.0]


def test_the_fastest_chunk_sizes_and_auto_are_marked(full_table):
    table = chunks.summary(full_table)
    fastest = table[table["is_fastest"]]
    assert list(fastest["chunk_size"]) == ["1024"] and list(fastest["target_chunk_size"]) == ["80"]
    assert list(fastest["steady_to_fastest_ratio"]) == [1.0]
    auto = table[table["is_auto"]].iloc[0]
    assert auto["steady_to_fastest_low_ratio"] > 1.0
    assert list(table["chunk_size"].unique()) == ["256", "1024", "4096", "none", "auto"]


def test_an_error_that_is_not_a_number_is_within_no_limit(tmp_path):
    cases = ({"error_relative": math.nan}, {"error_relative": 1e-9})
    for i, checks in enumerate(cases):
        made_up.write(tmp_path, made_up.casing_case("closure", 6, checks=checks), i)
    row = accuracy.summary(measured(tmp_path)).iloc[0]
    assert math.isnan(row["error_worst_relative"]) and not row["is_within"]
    assert row["error_best_relative"] == 1e-9


def test_the_limit_of_an_error_is_ten_to_minus_digits(full_table):
    table = accuracy.summary(full_table)
    row = table[(table["digits"] == 12) & (table["suite"] == "casing_variants")].iloc[0]
    assert row["limit_relative"] == pytest.approx(1e-12)
    assert row["error_to_limit_ratio"] == pytest.approx(13.0)
    assert not row["is_within"]
    theirs = table[table["method"] == "C++ reference"]
    assert list(theirs["digits"]) == [6, 9, 12]


def test_speed_ups_are_medians_of_the_ratios_in_each_process(tmp_path):
    for i, (ours, theirs) in enumerate(((1.0, 6.0), (2.0, 10.0), (1.0, 8.0))):
        checks = {
            "error_relative": 1e-7,
            "reference_error_relative": 2e-7,
            "setup_seconds": 2 * ours,
            "reference_setup_seconds": 8 * ours,
            "evaluation_seconds": ours,
            "reference_evaluation_seconds": theirs,
        }
        made_up.write(tmp_path, made_up.reference_case(6, checks=checks), i)
    row = reference.summary(measured(tmp_path)).iloc[0]
    assert row["evaluation_speedup_ratio"] == 6.0
    assert row["evaluation_speedup_low_ratio"] == 5.0
    assert row["evaluation_speedup_high_ratio"] == 8.0
    assert row["setup_speedup_ratio"] == 4.0


def test_gradients_have_a_table_of_their_own_and_stay_out_of_the_fields_accuracy(tmp_path):
    made_up.write(tmp_path, made_up.reference_case(6))
    gradient = made_up.gradient_reference_case(6)
    made_up.write(tmp_path, gradient)
    frame = measured(tmp_path)
    (field_row,) = reference.summary(frame).to_dict("records")
    (gradient_row,) = reference.summary(frame, gradient=True).to_dict("records")
    assert gradient_row["error_relative"] == gradient.checks["gradient_error_relative"]
    assert gradient_row["error_relative"] == 20 * field_row["error_relative"]
    assert set(gradient_row) == set(field_row)
    errors = accuracy.summary(frame)
    assert set(errors["suite"]) == {"against_reference"}
    assert list(errors["is_within"]) == [True, True]


@pytest.mark.parametrize(
    ("ours", "theirs", "setup", "reference_setup", "repaid"),
    [
        (1.0, 3.0, 2.0, 6.0, 2),  # 5.43 + 2 > 6, but 5.43 + 2 + 1 < 6 + 3
        (1.0, 3.0, 2.0, 9.0, 1),
        (3.0, 1.0, 2.0, 6.0, None),
        (1e-9, 2e-9, 1e308, 0.0, None),  # the number of evaluations is too large for a float
    ],
)
def test_compile_time_is_repaid_when_the_reference_takes_longer_in_total(
    tmp_path, ours, theirs, setup, reference_setup, repaid
):
    checks = {
        "setup_seconds": setup,
        "reference_setup_seconds": reference_setup,
        "evaluation_seconds": ours,
        "reference_evaluation_seconds": theirs,
    }
    made_up.write(tmp_path, made_up.reference_case(6, checks=checks))
    row = reference.summary(measured(tmp_path)).iloc[0]
    assert row["all_compile_median_seconds"] == pytest.approx(0.21 + 0.12 + 2.0 + 3.1)
    found = row["evaluations_to_repay_compile_count"]
    assert (None if pd.isna(found) else found) == repaid
    said = " ".join(reference.sentences(reference.summary(measured(tmp_path))))
    assert ("never repaid, because evaluation is no faster" in said) == (ours >= theirs)


def test_preparations_have_their_own_table_and_no_row_of_accuracy(tmp_path):
    made_up.write(tmp_path, made_up.preparation_case(6))
    frame = measured(tmp_path)
    row = preparation.summary(frame).iloc[0]
    assert row["casing_bytes"] == made_up.CASING_BYTES[6]
    assert (row["choose_median_seconds"], row["tables_median_seconds"]) == (0.03, 0.06)
    assert accuracy.summary(frame).empty


def test_tiles_of_another_suite_stay_out_of_the_chunk_sizes(tmp_path):
    case = made_up.chunk_case("auto", "auto", 0)
    made_up.write(tmp_path, dataclasses.replace(case, name="memory_sweep/gradient-cauto-tauto"))
    assert chunks.summary(measured(tmp_path)).empty
    made_up.write(tmp_path, case)
    assert len(chunks.summary(measured(tmp_path))) == 1


def test_tables_of_an_unrelated_suite_are_empty_and_not_an_error(tmp_path):
    made_up.write(tmp_path, made_up.record("other/case", {"size": 1}))
    frame = measured(tmp_path)
    for summary in (variants, chunks.summary, accuracy.summary, reference.summary):
        assert summary(frame).empty
