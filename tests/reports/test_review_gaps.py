"""The review of what is missing, broken, or must not be compared."""

import dataclasses
import json
import math

import pytest

from reports import ReportError
from reports.__main__ import main
from reports.review import make_review, review_markdown, sides_of_pair, sides_of_store
from tests.reports.review_pairs import BASE, HEAD, Pair, reviewed, slower, worse


@pytest.fixture
def pair(made_up, tmp_path):
    return Pair(made_up, tmp_path / "pair")


def test_times_measured_on_two_days_are_not_judged(pair):
    review = reviewed(pair.write(lambda record: slower(record, settled=2.0), apart=1))
    assert review.exit_code == 0 and worse(review) == set()
    assert {f.verdict for f in review.untested} == {"apart"} and len(review.untested) == 4
    assert "measured apart" in review_markdown(review)


def test_two_rounds_are_too_few_and_said_to_be(pair):
    review = reviewed(pair.write(lambda record: slower(record, settled=2.0), rounds=2))
    assert {f.verdict for f in review.untested} == {"unclear"}
    assert "too few" in review_markdown(review)


@pytest.mark.parametrize("other", [{"jax": "0.7.2", "jaxlib": "0.7.2"}, {"machine": "elsewhere"}])
def test_two_jax_versions_or_machines_are_refused_with_the_reason(pair, capsys, tmp_path, other):
    root = pair.write(**other)
    with pytest.raises(ReportError, match="two machines or two JAX versions are never compared"):
        sides_of_pair(root)
    out = tmp_path / "out"
    assert main(["review", "--pair", str(root), "--out", str(out)]) == 2
    told = capsys.readouterr().err
    assert next(iter(other.values())) in told and not out.exists()


def test_new_gone_broken_redefined_and_never_working_cells_are_told_apart(made_up, pair):
    root = pair.write()
    made_up.write(root / "head", made_up.casing_cell("closure", 6), commit=HEAD)
    made_up.write(root / "base", made_up.casing_cell("closure", 9), commit=BASE)
    cell = made_up.casing_cell("closure", 12)
    made_up.write(root / "base", cell, commit=BASE)
    broken = dataclasses.replace(made_up.failed(cell.name, cell.params), environment=None)
    made_up.write(root / "head", broken, commit=HEAD)
    for side, commit in (("base", BASE), ("head", HEAD)):
        made_up.write(root / side, made_up.failed("a/b", {}), commit=commit)
        chunk = made_up.chunk_cell("auto", 20 if side == "base" else 80)
        redefined = dataclasses.replace(chunk, name="chunk_sweep/x")
        made_up.write(root / side, redefined, commit=commit)
    review = reviewed(root)
    reasons = {entry.cell: entry.reason for entry in review.lost}
    assert "not measured at BASE" in reasons["casing_variants/w7x-closure-d6"]
    assert "not measured at HEAD" in reasons["casing_variants/w7x-closure-d9"]
    told = reasons["casing_variants/w7x-closure-d12"]
    assert "failed at HEAD in 1 of 1 processes, at BASE in 0 of 1: Timeout" in told
    assert "no process ended well at BASE and HEAD" in reasons["a/b"]
    assert "parameters changed" in reasons["chunk_sweep/x"]
    assert review.exit_code == 1 and [entry.cell for entry in review.broken] == [cell.name]
    assert "1 cell broken" in review.verdict


def test_a_cell_or_a_file_that_head_lacks_is_part_of_the_verdict(pair):
    root = pair.write()
    (garbled, *gone) = sorted((root / "head").rglob("w7x-argument-d3/*.json"))
    garbled.write_text(garbled.read_text()[:500])
    assert reviewed(root).verdict.endswith("in 2 cells (1 unreadable file set aside).")
    for path in (garbled, *gone):
        path.unlink()
    assert reviewed(root).verdict.endswith("in 1 cell (1 cell not compared).")


@pytest.mark.parametrize("seconds", [math.inf, math.nan, -1.0])
def test_a_time_that_no_clock_gives_is_set_aside_with_its_file(pair, seconds):
    root = pair.write()
    path = min((root / "head").rglob("w7x-argument-d3/*.json"))
    told = json.loads(path.read_text())
    told["samples_seconds"][0] = seconds
    path.write_text(json.dumps(told))
    (item,) = reviewed(root).sides.set_aside
    assert "samples_seconds" in item.reason


def test_what_was_planted_into_a_commit_is_in_the_title(pair):
    sides = sides_of_pair(pair.write())
    planted = dataclasses.replace(sides.head, commit=f"{BASE}+captured_array")
    told = review_markdown(make_review(dataclasses.replace(sides, head=planted)))
    assert told.startswith("### Review of bbbbbbbbbb+captured_array against bbbbbbbbbb\n")


def test_a_commit_of_a_store_is_not_compared_with_itself(made_up, tmp_path):
    made_up.write(tmp_path, made_up.casing_cell("closure", 3), 0, commit=BASE)
    with pytest.raises(ReportError, match="are one commit.*benchmarks.pair"):
        sides_of_store(tmp_path, BASE, BASE[:8])


def test_commits_of_a_store_are_found_by_their_beginning_and_unknown_ones_told(made_up, tmp_path):
    root = Pair(made_up, tmp_path / "pair").write()
    for side in ("base", "head"):
        for path in (root / side).iterdir():
            path.rename(tmp_path / path.name)
    (root / "base").rmdir()
    sides = sides_of_store(tmp_path, "bb", "dd")
    assert (sides.base.commit, sides.head.commit) == (BASE, HEAD)
    with pytest.raises(ReportError, match="no measurements of 'main'; it holds bbbb"):
        sides_of_store(tmp_path, "main", "dd", repository=tmp_path)
