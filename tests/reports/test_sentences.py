"""Sentences follow from the numbers: they state a difference, its uncertainty, or nothing."""

import math

import pytest

from reports import tables
from reports.closure import sentences, summaries
from reports.sections import accuracy, chunks, problems, reference
from tests.reports import made_up
from tests.reports.made_up import measured

NOISE = (1.0, 1.03, 0.98)


def write_variants(root, *, closure, rounds):
    """Write rounds; trace, lower and compile take `closure` s, or 2 s for the argument."""
    for i in range(rounds):
        for variant, seconds in (("closure", closure), ("argument", 2.0)):
            total = seconds * NOISE[(i + len(variant)) % 3]
            phases = made_up.casing_case(variant, 6).phases
            compiling = total - phases.trace_seconds - phases.lower_seconds
            made_up.write(root, made_up.casing_case(variant, 6, compile_seconds=compiling), i)


@pytest.mark.parametrize(
    "closure, rounds, said",
    [
        (6.0, 6, "compiling takes 2.94 times as long (2.91 to 3.15, 6 pairs), with medians of "),
        (6.0, 6, "6 pairs), with medians of 6.00 s against 2.00 s;"),
        (1.0, 6, "compiling takes 0.490 times"),
        (2.0, 6, "compiling shows no difference"),
        (6.0, 3, "3 pairs, too few to be certain"),
        (6.0, 1, "one pair, inconclusive"),
    ],
)
def test_a_difference_is_claimed_only_if_the_interval_excludes_one(tmp_path, closure, rounds, said):
    write_variants(tmp_path, closure=closure, rounds=rounds)
    lead = sentences.lead(summaries.variants(measured(tmp_path)))
    assert "14.7 MB are closed over" in lead and said in lead
    assert ("too few" in lead) == (rounds == 3)


def test_medians_are_stated_only_if_every_process_is_in_a_pair(tmp_path):
    write_variants(tmp_path, closure=6.0, rounds=6)
    made_up.write(tmp_path, made_up.casing_case("argument", 6, compile_seconds=90.0), 6)
    lead = sentences.lead(summaries.variants(measured(tmp_path)))
    assert "(2.91 to 3.15, 6 pairs); the steady-state run" in lead


def test_too_few_processes_are_reported_with_the_coverage_of_the_interval(tmp_path):
    write_variants(tmp_path, closure=6.0, rounds=3)
    said = sentences.sentences(summaries.variants(measured(tmp_path)))
    assert any("only 3 processes" in s and "75 %" in s for s in said)


def test_without_an_argument_variant_no_comparison_is_stated(tmp_path):
    made_up.write(tmp_path, made_up.casing_case("closure", 6))
    cases = summaries.variants(measured(tmp_path))
    assert "nothing can be said" in sentences.lead(cases)
    said = " ".join(sentences.sentences(cases))
    assert "against the argument" not in said and "megabyte adds" not in said


@pytest.mark.parametrize(
    "seconds, said", [(3.0, "adds 10.0 ms of compile time"), (1.9, "within the noise")]
)
def test_the_cost_per_embedded_megabyte_is_the_difference_over_the_bytes(tmp_path, seconds, said):
    for i in range(6):
        for variant, total, size in (("closure", seconds, 100_000_000), ("argument", 2.0, 0)):
            changes = {"captured_bytes": 0, "embedded_bytes": size, "compile_seconds": total}
            made_up.write(tmp_path, made_up.casing_case(variant, 6, 0, **changes), i)
    assert any(said in s for s in sentences.sentences(summaries.variants(measured(tmp_path))))


def test_simplified_constants_are_compared_with_the_argument_variant(full_table):
    said = sentences.sentences(summaries.variants(full_table))
    (ratios,) = (s for s in said if s.startswith("w7x half period, d\u00a0=\u00a012"))
    assert "argument variant: closure 1.56×" in ratios and "simplified 1.0" in ratios


@pytest.mark.parametrize("more, said", [(0, ""), (96_000, "more"), (-96_000, "less")])
def test_captured_bytes_are_compared_with_the_workloads_arrays(tmp_path, more, said):
    captured = made_up.CASING_BYTES[6] + more
    made_up.write(tmp_path, made_up.casing_case("closure", 6, captured_bytes=captured))
    found = " ".join(sentences.sentences(summaries.variants(measured(tmp_path))))
    assert (f"captures 96.0 kB {said} than its workload's arrays" in found) == bool(said)
    assert ("captures exactly the bytes of its workload's arrays" in found) == (not said)


def test_bytes_that_the_argument_variant_captures_too_are_named(tmp_path):
    captured = made_up.CASING_BYTES[6] + 96
    made_up.write(tmp_path, made_up.casing_case("closure", 6, captured_bytes=captured))
    made_up.write(tmp_path, made_up.casing_case("argument", 6))
    found = " ".join(sentences.sentences(summaries.variants(measured(tmp_path))))
    assert "workload's arrays, plus at most 96 B that the argument variant captures too." in found


@pytest.mark.parametrize("steady, is_same", [((0.2,) * 6, False), ((0.099, 0.102) * 3, True)])
def test_the_ratio_of_auto_to_the_fastest_is_given(tmp_path, steady, is_same):
    for i, seconds in enumerate(steady):
        made_up.write(tmp_path, made_up.chunk_case(1024, 80, 0, steady_seconds=0.1), i)
        made_up.write(tmp_path, made_up.chunk_case("auto", "auto", 0, steady_seconds=seconds), i)
    (said,) = chunks.sentences(chunks.summary(measured(tmp_path)))
    assert "fastest at chunk_size 1024, target_chunk_size 80" in said and '"auto" takes' in said
    assert ("within the noise" in said) == is_same and ("2.00 times as long" in said) != is_same


@pytest.mark.parametrize(
    "chunk, target, said",
    [("auto", "auto", 'this pair is "auto" itself'), (1024, 80, '"auto" was not measured')],
)
def test_a_sentence_says_if_auto_is_the_fastest_pair_or_is_missing(tmp_path, chunk, target, said):
    made_up.write(tmp_path, made_up.chunk_case(chunk, target))
    assert said in chunks.sentences(chunks.summary(measured(tmp_path)))[0]


def test_the_problem_furthest_from_its_limit_is_named(full_table):
    lead = accuracy.lead(accuracy.summary(full_table))
    assert lead.startswith("Within the limit 10⁻ᵈ: 3 of 4 problems")
    assert "d\u00a0=\u00a012 exceeds its limit most, with an error of " in lead
    assert "1.3e−11, 13 times the limit" in lead


@pytest.mark.parametrize(
    "error, begins, said",
    [
        (math.nan, "0 of 1 problem", "not a number at w7x"),
        (1e-7, "1 of 1", "is the closest to its limit, with an error of 1.0e−7"),
    ],
)
def test_a_nan_and_the_problem_closest_to_its_limit_are_named(tmp_path, error, begins, said):
    made_up.write(tmp_path, made_up.casing_case("closure", 6, checks={"error_relative": error}))
    lead = accuracy.lead(accuracy.summary(measured(tmp_path)))
    assert lead.startswith(f"Within the limit 10⁻ᵈ: {begins}") and said in lead


def test_speed_ups_are_without_compile_time(full_table):
    lead = reference.lead(reference.summary(full_table))
    assert "without compile time" in lead and "3 problems, 6 processes each" in lead


@pytest.mark.parametrize(
    "own, theirs, said",
    [
        (0.5, 1.0, "lowest processor time was 0.500×"),
        (1.0, 1.9, "highest processor time was 1.90× the wall time"),
    ],
)
def test_too_little_and_too_much_processor_time_are_reported(tmp_path, own, theirs, said):
    loads = {"cpu_per_wall": own, "reference_cpu_per_wall": theirs}
    checks = made_up.reference_case(6).checks
    made_up.write(tmp_path, made_up.reference_case(6, checks={**checks, **loads}))
    assert any(said in s for s in reference.sentences(reference.summary(measured(tmp_path))))


def test_failures_are_counted_by_status(full_table):
    table = tables.failures(full_table, ())
    assert problems.lead(table) == "Not included in any table above: 1 timeout."
    assert "Nothing failed" in problems.lead(table.iloc[:0])
