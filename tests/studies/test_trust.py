"""The trust study: its pairs have the injected effects, and its tables count the verdicts."""

import argparse
import json
import math

import jax
import numpy as np
import pytest

from jaxmeter import compare_times
from studies.__main__ import main
from studies.harness import measured, read_rows
from studies.trust import verdicts
from studies.trust.kinds import KINDS, loop
from studies.trust.measure import pair_row, planned_pairs


def test_the_plan_has_as_many_pairs_as_the_docs_claim():
    pairs = planned_pairs()
    assert len({pair["key"] for pair in pairs}) == len(pairs)
    assert sum(pair["study"] == "A/A" for pair in pairs) >= 200
    assert sum(pair["effect"] == 0.10 for pair in pairs) >= 100
    assert {pair["kind"] for pair in pairs} == set(KINDS)


def test_a_longer_loop_is_the_same_program_with_more_work():
    short, longer = (loop("matmul", 0, more) for more in (0.0, 0.1))
    assert (int(short.args[1]), int(longer.args[1])) == (200, 220)
    programs = [str(jax.make_jaxpr(case.fn)(*case.args)) for case in (short, longer)]
    assert programs[0] == programs[1]


def test_a_process_writes_a_row_for_each_pair():
    tiny = [pair for pair in planned_pairs() if pair["kind"] == "tiny"]
    equal = next(pair for pair in tiny if pair["form"] == "plain") | {"compiles": 1}
    injected = next(pair for pair in tiny if pair["effect"])
    rows = [pair_row(pair, 0, {"loop": {"tiny": 0.5}}) for pair in (equal, injected)]
    assert json.loads(json.dumps(rows)) == rows
    assert rows[0]["exact"] == []
    assert [len(side) for side in rows[0]["compiles"]] == [1, 1]
    assert rows[1]["compiles"] == [[], []]
    # A longer loop may give another answer, but it has the same program.
    assert set(rows[1]["exact"]) <= {"answers.bits"}


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"loop": {"tiny": 0.5}}', json.dumps({"loop": dict.fromkeys(KINDS, 0)})]
)
def test_a_file_without_a_share_of_each_kind_is_refused_in_one_line(text, tmp_path, capsys):
    (tmp_path / "shares.json").write_text(text)
    assert main(["trust", "check", "--shares", str(tmp_path / "shares.json")]) == 2
    error = capsys.readouterr().err
    assert "trust shares` wrote" in error and error.count("\n") == 1


def rows(effect, *, phase_effect=0.0, compiles=0, count=8, study="A/A", sigma=0.005):
    """Yield the rows of eight processes for pairs that differ by an effect."""
    draw = np.random.default_rng(1)
    for number in range(count):
        for process in range(8):
            turns = draw.normal(math.log1p(effect), 0.01, 30) + draw.normal(0, sigma)
            phases = np.exp(draw.normal(0.0, 0.02, (2, compiles, 3)))
            phases[1] *= 1 + phase_effect
            yield {
                "key": f"{study}-{effect}-{phase_effect}-{compiles}-{number}",
                "process": process,
                "study": study,
                "form": "loop",
                "kind": "tiny",
                "effect": effect or phase_effect,
                "seed": number + 100 * compiles,
                "a": [1.0] * 30,
                "b": np.exp(turns).tolist(),
                "compiles": phases.tolist(),
                "exact": [],
                "load_1min": 0.5,
                "utc": "2026-01-01T00:00:00+00:00",
            }


@pytest.fixture
def tables(tmp_path):
    """Return a function that writes rows, judges them, and returns the rows of both tables.

    Each list of rows is written to a file of its own.
    """

    def make(*found, condition="quiet"):
        files = [tmp_path / f"rows-{number}.jsonl" for number in range(len(found))]
        for file, rows in zip(files, found, strict=True):
            file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        given = [f"{condition}={file}" for file in files]
        verdicts.run(argparse.Namespace(rows=given, out=tmp_path))
        return [read_rows(tmp_path / name) for name in ("verdicts.csv", "samples.csv")]

    return make


def test_the_tables_count_the_pairs_of_all_files_that_each_design_calls_different(tables):
    found, samples = tables(rows(0.0), rows(0.1, study="injected"))
    by = {(row["study"], row["processes"]): row for row in found}
    assert (by["A/A", "6"]["same"], by["A/A", "6"]["different"]) == ("8", "0")
    assert by["injected", "6"]["different"] == by["injected", "6"]["steady_different"] == "8"
    assert float(by["injected", "8"]["steady_ratio"]) == pytest.approx(1.1, abs=0.005)
    designs = {(row["study"], row["processes"], row["design"]): row for row in samples}
    assert int(designs["A/A", "2", "samples, two processes"]["different"]) > 0


def test_compile_times_are_judged_together_with_the_steady_state_time(tables):
    equal = rows(0.0, compiles=3)
    heavier = rows(0.0, phase_effect=0.5, compiles=3, study="compile")
    found, _ = tables([*equal, *heavier, *rows(0.0)])
    by = {(row["study"], row["has_phases"], row["processes"]): row for row in found}
    assert by["A/A", "True", "6"]["different"] == "0"
    assert by["A/A", "False", "6"]["compile_ratio"] == ""
    row = by["compile", "True", "6"]
    assert (row["different"], row["compile_different"]) == ("8", "8")
    assert row["steady_different"] == "0"
    assert float(row["compile_ratio"]) == pytest.approx(1.5, abs=0.02)


def test_a_single_time_is_tested_as_one_of_four_times(tables, monkeypatch):
    # If the time were tested alone, not as one of four, more pairs would count as different.
    measured = list(rows(0.03, study="injected", count=40, sigma=0.01))
    (row,) = (one for one in tables(measured)[0] if one["processes"] == "4")
    alone = lambda rounds, criteria, times_count=1: compare_times(rounds, criteria)  # noqa: E731
    monkeypatch.setattr(verdicts, "compare_times", alone)
    (lenient,) = (one for one in tables(measured)[0] if one["processes"] == "4")
    assert int(row["different"]) < int(lenient["different"])


def test_rows_of_other_conditions_stay(tables):
    tables(rows(0.0))
    found, samples = tables(rows(0.1, study="injected"), condition="loaded")
    assert {row["condition"] for row in found} == {"quiet", "loaded"}
    again, _ = tables(rows(0.1, study="injected"), condition="loaded")
    assert again == found and {row["condition"] for row in samples} == {"quiet", "loaded"}


def test_the_committed_verdicts_follow_from_the_committed_rounds():
    made = verdicts.verdict_rows(read_rows(measured("trust", "rounds.csv.gz")))
    written = read_rows(measured("trust", "verdicts.csv"))
    assert [{name: str(value) for name, value in row.items()} for row in made] == written
