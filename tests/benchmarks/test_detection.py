"""The detection study's bookkeeping: what counts as found, and what as a false alarm."""

import importlib.util

import pytest

from benchmarks.pair import PLANTS, ROOT


@pytest.fixture(scope="module")
def detection():
    spec = importlib.util.spec_from_file_location("detection", ROOT / "tools" / "detection.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def review(*worse, broken=()):
    findings = [{"cell": c, "metric": m, "verdict": "worse"} for c, m in worse]
    lost = [{"cell": cell, "is_worse": True} for cell in broken]
    return {"findings": findings, "not_compared": lost, "tested_count": 6}


TOUCHED, GRADIENT = "casing_variants/w7x-argument-d3", "memory_sweep/gradient-cauto-tauto"


def test_every_plant_has_what_it_must_be_found_by(detection):
    assert set(detection.FOUND_BY) == {path.stem for path in PLANTS.glob("[a-z]*.py")}


def test_a_plant_is_found_by_its_own_metric_where_it_acts_and_by_no_other(detection):
    right = review((TOUCHED, "temp_bytes"))
    elsewhere = review((GRADIENT, "temp_bytes"))
    other = review((TOUCHED, "build_seconds"))
    assert detection.tally("more_scratch", [right, elsewhere, other]) == (3, 1, 1, 18)


def test_a_cell_that_breaks_is_how_a_wrong_answer_is_found(detection):
    assert detection.tally("float32_slip", [review(broken=[TOUCHED])]) == (1, 1, 0, 6)


def test_between_equal_commits_everything_is_a_false_alarm(detection):
    found = review((TOUCHED, "settled_median_seconds"), (GRADIENT, "peak_rss_bytes"))
    rows = [("equal", *detection.tally("equal", [found, review()]))]
    assert rows == [("equal", 2, 0, 2, 12)]
    assert "| equal | 2 | – | 2 | 12 |" in detection.table(rows)
