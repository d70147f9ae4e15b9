"""The sentences follow the numbers: they claim, doubt and keep silent as the numbers ask."""

import math

from reports import read_store, tables
from reports.closure import findings as findings_closure
from reports.sections import findings, summaries


def closures(root):
    return summaries.closure_versus_argument(tables.measurements(read_store(root)))


def write_variants(made_up, root, *, closure, argument, rounds=6, **changes):
    for i in range(rounds):
        for variant, seconds in (("closure", closure), ("argument", argument)):
            noisy = seconds * (1.0, 1.03, 0.98)[(i + len(variant)) % 3]
            case = made_up.casing_case(variant, 6, 0, compile_seconds=noisy, **changes)
            made_up.write(root, case, i)


def test_a_difference_is_claimed_where_the_interval_leaves_one_out(made_up, tmp_path):
    write_variants(made_up, tmp_path, closure=6.0, argument=2.0)
    lead = findings_closure.closure_lead(closures(tmp_path))
    assert "14.7 MB closed over" in lead
    assert "compiling takes 2.94 times as long (2.91 to 3.15, 6 pairs)" in lead
    assert "6.00 s against 2.00 s" in lead
    assert "too few" not in lead


def test_overlap_is_told_as_no_difference(made_up, tmp_path):
    write_variants(made_up, tmp_path, closure=2.0, argument=2.0)
    table = closures(tmp_path)
    assert "compiling shows no difference" in findings_closure.closure_lead(table)
    assert not any(
        "each captured megabyte" in said for said in findings_closure.closure_findings(table)
    )


def test_a_closure_that_compiles_faster_is_told_too(made_up, tmp_path):
    write_variants(made_up, tmp_path, closure=1.0, argument=2.0)
    assert "compiling takes 0.490 times" in findings_closure.closure_lead(closures(tmp_path))


def test_few_processes_are_owned_up_to(made_up, tmp_path):
    write_variants(made_up, tmp_path, closure=6.0, argument=2.0, rounds=3)
    table = closures(tmp_path)
    assert "3 pairs, too few to be sure" in findings_closure.closure_lead(table)
    assert any(
        "3 processes only" in s and "75 %" in s for s in findings_closure.closure_findings(table)
    )


def test_one_process_has_no_interval(made_up, tmp_path):
    write_variants(made_up, tmp_path, closure=6.0, argument=2.0, rounds=1)
    assert "one pair, which may be chance" in findings_closure.closure_lead(closures(tmp_path))


def test_a_missing_variant_says_nothing_rather_than_something(made_up, tmp_path):
    made_up.write(tmp_path, made_up.casing_case("closure", 6))
    table = closures(tmp_path)
    assert "nothing can be said" in findings_closure.closure_lead(table)
    findings_closure.closure_findings(table)


def test_the_cost_per_captured_megabyte_is_the_difference_over_the_bytes(made_up, tmp_path):
    for i in range(6):
        for variant, seconds, size in (("closure", 3.0, 100_000_000), ("argument", 2.0, 0)):
            case = made_up.casing_case(variant, 6, 0, compile_seconds=seconds, captured_bytes=size)
            made_up.write(tmp_path, case, i)
    said = findings_closure.closure_findings(closures(tmp_path))
    assert any("10.0 ms of compile time for each captured megabyte" in s for s in said)


def test_simplified_constants_are_compared_with_the_argument_variant(full_store):
    said = findings_closure.closure_findings(closures(full_store))
    (sentence,) = (s for s in said if "SIMPLIFIED" in s)
    assert "163 MB as hidden arguments" in sentence and "embeds 0 B" in sentence
    assert "compiling shows no difference" in sentence


def test_whether_the_closure_captures_the_casing_to_the_byte_is_told(made_up, tmp_path):
    made_up.write(tmp_path / "a", made_up.casing_case("closure", 6))
    said = findings_closure.closure_findings(closures(tmp_path / "a"))
    assert any("the arrays of the casing, to the byte" in s for s in said)
    more = made_up.casing_bytes[6] + 96_000
    made_up.write(tmp_path / "b", made_up.casing_case("closure", 6, captured_bytes=more))
    said = findings_closure.closure_findings(closures(tmp_path / "b"))
    assert any("96.0 kB more" in s and "0 of 1 problem agree" in s for s in said)


def chunks(root):
    return summaries.chunk_sizes(tables.measurements(read_store(root)))


def test_the_distance_of_auto_from_the_fastest_is_told(made_up, tmp_path):
    for i in range(6):
        made_up.write(tmp_path, made_up.chunk_case(1024, 80, 0, steady_seconds=0.1), i)
        made_up.write(tmp_path, made_up.chunk_case("auto", "auto", 0, steady_seconds=0.2), i)
    (said,) = findings.chunk_findings(chunks(tmp_path))
    assert "fastest at chunk_size 1024, target_chunk_size 80" in said
    assert '"auto" takes' in said and "2.00 times as long" in said and "noise" not in said


def test_auto_within_the_noise_auto_fastest_and_auto_missing(made_up, tmp_path):
    for i, noise in enumerate((0.99, 1.02, 1.01, 0.98, 1.03, 1.02)):
        made_up.write(tmp_path / "a", made_up.chunk_case(1024, 80, 0, steady_seconds=0.1), i)
        auto = made_up.chunk_case("auto", "auto", 0, steady_seconds=0.1 * noise)
        made_up.write(tmp_path / "a", auto, i)
    assert "within the noise" in findings.chunk_findings(chunks(tmp_path / "a"))[0]
    made_up.write(tmp_path / "b", made_up.chunk_case("auto", "auto"))
    assert 'that is "auto" itself' in findings.chunk_findings(chunks(tmp_path / "b"))[0]
    made_up.write(tmp_path / "c", made_up.chunk_case(1024, 80))
    assert '"auto" was not measured' in findings.chunk_findings(chunks(tmp_path / "c"))[0]


def accuracies(root):
    return summaries.accuracy(tables.measurements(read_store(root)))


def test_the_problem_furthest_from_its_limit_is_named_beside_the_reference(full_store):
    lead = findings.accuracy_lead(accuracies(full_store))
    assert lead.startswith("Within the 10⁻ᵈ asked: 3 of 4 problems")
    assert "d\u00a0=\u00a012 with 1.3e−11, 13 times the limit" in lead
    assert "the C++ reference: 1.4e−11" in lead


def test_an_error_that_is_not_a_number_is_named(made_up, tmp_path):
    case = made_up.casing_case("closure", 6, checks={"error_relative": math.nan})
    made_up.write(tmp_path, case)
    lead = findings.accuracy_lead(accuracies(tmp_path))
    assert (
        lead.startswith("Within the 10⁻ᵈ asked: 0 of 1 problem") and "not a number at w7x" in lead
    )


def test_when_all_hold_the_closest_is_named(made_up, tmp_path):
    made_up.write(tmp_path, made_up.casing_case("closure", 6))
    assert "the closest to its limit is w7x" in findings.accuracy_lead(accuracies(tmp_path))


def test_speed_ups_and_compile_time_are_told_together(full_store):
    table = summaries.against_reference(tables.measurements(read_store(full_store)))
    lead = findings.reference_lead(table)
    assert "compile time left out" in lead and "3 problems, 6 processes each" in lead
    said = findings.reference_findings(table)
    assert len(said) == 3 and all("tracing and compiling took" in s for s in said)


def test_a_processor_that_was_shared_or_not_alone_is_told(made_up, tmp_path):
    checks = dict(made_up.reference_case(6).checks)
    for name, own, theirs in (("busy", 0.5, 1.0), ("threads", 1.0, 1.9)):
        loads = {"cpu_per_wall": own, "reference_cpu_per_wall": theirs}
        made_up.write(tmp_path / name, made_up.reference_case(6, checks=checks | loads))
    said = {
        name: findings.reference_findings(
            summaries.against_reference(tables.measurements(read_store(tmp_path / name)))
        )
        for name in ("busy", "threads")
    }
    assert any("down to 0.500×" in s for s in said["busy"])
    assert any("Not one thread each" in s and "1.90×" in s for s in said["threads"])


def test_failures_are_counted_by_status(made_up, full_store):
    store = read_store(full_store)
    table = tables.failures(tables.measurements(store), store.skipped)
    assert findings.problems_lead(table) == "Left out of every table above: 1 timeout."
    assert "Nothing failed" in findings.problems_lead(table.iloc[:0])
