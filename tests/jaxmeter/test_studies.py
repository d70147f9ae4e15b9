"""The studies of trust plant what they say, and count what they find."""

import csv
import importlib
import json
import math
from pathlib import Path

import jax
import numpy as np
import pytest

STUDIES = Path(__file__).parents[2] / "jaxmeter" / "studies"


@pytest.fixture
def study(monkeypatch):
    """Imports a script of the studies, as running it does."""
    monkeypatch.syspath_prepend(str(STUDIES))
    return importlib.import_module


def test_there_are_as_many_pairs_as_the_claims_speak_of(study):
    pairs = study("trust").pairs()
    assert len({pair.key for pair in pairs}) == len(pairs)
    assert sum(pair.study == "aa" for pair in pairs) >= 200
    assert sum(pair.effect == 0.10 for pair in pairs) >= 100
    assert {pair.kind for pair in pairs} == set(study("kinds").KINDS)


def test_a_longer_loop_is_the_same_program_with_more_work(study):
    short, longer = (study("kinds").loop("matmul", 0, more) for more in (0.0, 0.1))
    assert (int(short.args[1]), int(longer.args[1])) == (200, 220)
    programs = [str(jax.make_jaxpr(case.fn)(*case.args)) for case in (short, longer)]
    assert programs[0] == programs[1]


def rows(effect, sigma, count=8):
    """What eight processes found of pairs that differ by so much."""
    draw = np.random.default_rng(1)
    for number in range(count):
        for process in range(8):
            turns = draw.normal(math.log1p(effect), 0.01, 30) + draw.normal(0, sigma)
            yield {
                "key": f"{effect}-{number}",
                "process": process,
                "study": "planted" if effect else "aa",
                "form": "loop",
                "kind": "tiny",
                "effect": effect,
                "seed": number,
                "a": [1.0] * 30,
                "b": np.exp(turns).tolist(),
                "compiles": [[], []],
                "exact": [],
                "load_1min": 0.5,
                "utc": "2026-01-01T00:00:00+00:00",
            }


def test_the_tables_count_what_each_design_calls_different(study, tmp_path, monkeypatch, capsys):
    tables = study("trust_tables")
    file = tmp_path / "rows.jsonl"
    told = [*rows(0.0, 0.005), *rows(0.1, 0.005)]
    file.write_text("".join(json.dumps(row) + "\n" for row in told))
    monkeypatch.setattr("sys.argv", ["trust_tables.py", f"quiet={file}", "--out", str(tmp_path)])
    tables.main()
    found = list(csv.DictReader(capsys.readouterr().out.strip().splitlines()))
    by = {
        (row["study"], row["processes"], row["design"]): (int(row["different"]), int(row["pairs"]))
        for row in found
    }
    assert by["aa", "6", "in turns"] == (0, 8) and by["planted", "6", "in turns"] == (8, 8)
    assert by["aa", "1", "samples of two processes"][0] > 0
    (ratio,) = {
        row["ratio_of_all"] for row in found if (row["study"], row["processes"]) == ("planted", "8")
    }
    assert float(ratio) == pytest.approx(1.1, abs=0.005)
    assert (tmp_path / "trust_rounds.csv.gz").stat().st_size > 100
