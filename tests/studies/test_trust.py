"""The studies of trust plant what they say, and count what they find."""

import importlib
import json
import math
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from jaxmeter import compare_times

MEASURED = Path(__file__).parents[2] / "studies" / "trust" / "measured"


@pytest.fixture
def study():
    """Import a module of the study by its name."""
    return lambda name: importlib.import_module(f"studies.trust.{name}")


def test_there_are_as_many_pairs_as_the_claims_speak_of(study):
    plans = study("pairs").PLANS
    first, second = plans["first"](), plans["second"]()
    every = [*first, *second]
    assert len({pair.key for pair in every}) == len(every)
    assert sum(pair.study == "aa" for pair in first) >= 200
    assert sum(pair.effect == 0.10 for pair in first) >= 100
    assert {pair.kind for pair in every} == set(study("kinds").KINDS)
    # As compare itself makes them.
    assert sum(pair.study == "aa" and pair.compiles == 3 for pair in second) >= 70
    effects = {(pair.study, pair.effect) for pair in second} - {("aa", 0.0)}
    assert effects == {("planted", -0.10), ("compile", 0.20), ("compile", 0.50)}


def test_a_longer_loop_is_the_same_program_with_more_work(study):
    short, longer = (study("kinds").loop("matmul", 0, more) for more in (0.0, 0.1))
    assert (int(short.args[1]), int(longer.args[1])) == (200, 220)
    programs = [str(jax.make_jaxpr(case.fn)(*case.args)) for case in (short, longer)]
    assert programs[0] == programs[1]


def test_a_program_unrolled_further_has_more_of_the_same_operations(study):
    short, longer = (study("kinds").unrolled("tiny", 0, more) for more in (0.0, 0.5))
    counts = [len(jax.make_jaxpr(case.fn)(*case.args).eqns) for case in (short, longer)]
    assert counts[1] == 1.5 * counts[0]


def test_a_process_writes_a_row_for_each_pair(study):
    trust, pair = study("measure"), study("pairs").Pair
    every = [
        pair("aa", "tiny", "plain", 0.0, 100, compiles=1),
        pair("planted", "tiny", "loop", -0.1, 100),
        pair("compile", "tiny", "unrolled", 0.5, 100, compiles=1),
    ]
    shares = {"loop": {"tiny": 0.5}, "unrolled": {"tiny": 0.5}}
    rows = {one.study: trust._row(one, 0, shares) for one in every}
    assert json.loads(json.dumps(rows)) == rows
    assert rows["aa"]["exact"] == []
    assert [len(side) for side in rows["aa"]["compiles"]] == [1, 1]
    assert rows["planted"]["compiles"] == [[], []]
    # A loop that is shorter may answer otherwise; what it is made of is the same.
    assert set(rows["planted"]["exact"]) <= {"answers.bits"}
    assert "program.jaxpr_equations_count" in rows["compile"]["exact"]


def rows(effect, *, phase_effect=0.0, compiles=0, count=8, study="aa", sigma=0.005):
    """What eight processes found of pairs that differ by so much."""
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
def tables(study, tmp_path, monkeypatch):
    """Keeps rounds of rows, judges them, and gives the rows of both tables."""

    def run(script, *arguments):
        monkeypatch.setattr(sys, "argv", [script, *map(str, arguments)])
        study(script).main()

    def make(told, condition="quiet"):
        file = tmp_path / "rows.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in told))
        run("rounds", f"{condition}={file}", "--out", tmp_path)
        run("tables", tmp_path)
        names = ("verdicts.csv", "samples.csv")
        return [study("rounds").read(tmp_path / name) for name in names]

    return make


def test_the_tables_count_what_each_design_calls_different(tables):
    told = [*rows(0.0), *rows(0.1, study="planted")]
    found, samples = tables(told)
    by = {(row["study"], row["processes"]): row for row in found}
    assert (by["aa", "6"]["same"], by["aa", "6"]["different"]) == ("8", "0")
    assert by["planted", "6"]["different"] == by["planted", "6"]["steady_different"] == "8"
    assert float(by["planted", "8"]["steady_ratio"]) == pytest.approx(1.1, abs=0.005)
    apart = {(row["study"], row["processes"], row["design"]): row for row in samples}
    assert int(apart["aa", "1", "samples of two processes"]["different"]) > 0


def test_phases_are_judged_with_the_steady_time(tables):
    equal = rows(0.0, compiles=3)
    heavier = rows(0.0, phase_effect=0.5, compiles=3, study="compile")
    found, _ = tables([*equal, *heavier, *rows(0.0)])
    by = {(row["study"], row["has_phases"], row["processes"]): row for row in found}
    assert by["aa", "True", "6"]["different"] == "0"
    assert by["aa", "False", "6"]["compile_ratio"] == ""
    told = by["compile", "True", "6"]
    assert (told["different"], told["compile_different"]) == ("8", "8")
    assert told["steady_different"] == "0"
    assert float(told["compile_ratio"]) == pytest.approx(1.5, abs=0.02)


def test_a_planted_effect_has_to_pass_the_test_of_compare(study, tables, monkeypatch):
    # Were a time without phases tested alone, at four times the significance, more would be found.
    told = list(rows(0.03, study="planted", count=40, sigma=0.01))
    found, _ = tables(told)
    (row,) = (one for one in found if one["processes"] == "4")
    alone = lambda rounds, criteria, times_count: compare_times(rounds, criteria)  # noqa: E731
    monkeypatch.setattr(study("tables"), "compare_times", alone)
    (lenient,) = (one for one in tables(told)[0] if one["processes"] == "4")
    assert int(row["different"]) < int(lenient["different"])


def test_what_is_stored_of_other_conditions_stays(tables):
    tables(list(rows(0.0)), "quiet")
    found, samples = tables(list(rows(0.1, study="planted")), "loaded")
    assert {row["condition"] for row in found} == {"quiet", "loaded"}
    again, _ = tables(list(rows(0.1, study="planted")), "loaded")
    assert again == found and {row["condition"] for row in samples} == {"quiet", "loaded"}


def test_the_tables_in_the_repository_are_those_of_the_stored_rounds(study):
    stored = MEASURED
    rounds = study("rounds")
    made = list(study("tables").judged(rounds.read(rounds.rounds_of(stored))))
    written = rounds.read(stored / "verdicts.csv")
    assert [{name: str(value) for name, value in row.items()} for row in made] == written
