"""The review of what is missing, broken, or must not be compared."""

import dataclasses
import json
import math
import shutil

import pandas as pd
import pytest

from reports import ReportError
from reports.__main__ import main
from reports.review import make_review, review_markdown, sides_of_pair, sides_of_store
from reports.review.times import adjacent_rounds_of
from tests.reports.review_pairs import BASE, CLOSURE, HEAD, Pair, reviewed, slower, worse


@pytest.fixture
def pair(made_up, tmp_path):
    return Pair(made_up, tmp_path / "pair")


def test_times_measured_on_two_days_are_not_judged(pair):
    review = reviewed(pair.write(lambda record: slower(record, steady=2.0), apart=1))
    assert review.exit_code == 0 and worse(review) == set()
    assert {f.verdict for f in review.untested} == {"apart"} and len(review.untested) == 4
    assert "measured apart" in review_markdown(review)


def test_two_rounds_are_too_few_and_said_to_be(pair):
    review = reviewed(pair.write(lambda record: slower(record, steady=2.0), rounds=2))
    assert {f.verdict for f in review.untested} == {"inconclusive"}
    assert "have fewer than 3 rounds" in review_markdown(review)


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
    made_up.write(root / "head", made_up.casing_case("closure", 6), commit=HEAD)
    made_up.write(root / "base", made_up.casing_case("closure", 9), commit=BASE)
    case = made_up.casing_case("closure", 12)
    made_up.write(root / "base", case, commit=BASE)
    broken = dataclasses.replace(made_up.failed(case.name, case.params), environment=None)
    made_up.write(root / "head", broken, commit=HEAD)
    for side, commit in (("base", BASE), ("head", HEAD)):
        made_up.write(root / side, made_up.failed("a/b", {}), commit=commit)
        chunk = made_up.chunk_case("auto", 20 if side == "base" else 80)
        redefined = dataclasses.replace(chunk, name="chunk_sweep/x")
        made_up.write(root / side, redefined, commit=commit)
    review = reviewed(root)
    reasons = {entry.case: entry.reason for entry in review.lost}
    assert "not measured at BASE" in reasons["casing_variants/w7x-closure-d6"]
    assert "not measured at HEAD" in reasons["casing_variants/w7x-closure-d9"]
    told = reasons["casing_variants/w7x-closure-d12"]
    assert "failed at HEAD in 1 of 1 processes, at BASE in 0 of 1: Timeout" in told
    assert "no process succeeded at BASE and HEAD" in reasons["a/b"]
    assert "parameters changed" in reasons["chunk_sweep/x"]
    assert review.exit_code == 1 and [entry.case for entry in review.broken] == [case.name]
    assert "1 case broken" in review.verdict


def test_a_cell_or_a_file_that_head_lacks_is_part_of_the_verdict(pair):
    root = pair.write()
    (garbled, *gone) = sorted((root / "head").rglob("w7x-argument-d3/*.json"))
    garbled.write_text(garbled.read_text()[:500])
    assert reviewed(root).verdict.endswith("in 2 cases (1 unreadable file set aside).")
    for path in (garbled, *gone):
        path.unlink()
    assert reviewed(root).verdict.endswith("in 1 case (1 case not compared).")


@pytest.mark.parametrize("seconds", [math.inf, math.nan, -1.0])
def test_a_time_that_no_clock_gives_is_skipped_with_its_file(pair, seconds):
    root = pair.write()
    path = min((root / "head").rglob("w7x-argument-d3/*.json"))
    told = json.loads(path.read_text())
    told["samples_seconds"][0] = seconds
    path.write_text(json.dumps(told))
    (item,) = reviewed(root).sides.skipped
    assert "samples_seconds" in item.reason


def test_what_was_planted_into_a_commit_is_in_the_title(pair):
    sides = sides_of_pair(pair.write())
    planted = dataclasses.replace(sides.head, commit=f"{BASE}+captured_array")
    told = review_markdown(make_review(dataclasses.replace(sides, head=planted)))
    assert told.startswith("### Review of bbbbbbbbbb+captured_array against bbbbbbbbbb\n")


def test_a_commit_of_a_store_is_not_compared_with_itself(made_up, tmp_path):
    made_up.write(tmp_path, made_up.casing_case("closure", 3), 0, commit=BASE)
    with pytest.raises(ReportError, match="are one commit.*benchmarks.measuring.pair"):
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


def test_a_review_that_compares_nothing_does_not_pass(pair, tmp_path, capsys):
    root = pair.write(rounds=1)
    (suite,) = (root / "head" / HEAD).glob("*/*")
    suite.rename(suite.with_name("renamed"))
    out = tmp_path / "out"
    assert main(["review", "--pair", str(root), "--out", str(out)]) == 2
    assert capsys.readouterr().out == "Nothing could be compared (4 cases not compared).\n"
    assert "**No verdict.**" in (out / "review.md").read_text("utf-8")
    assert json.loads((out / "review.json").read_text("utf-8"))["exit_code"] == 2
    assert "Passes" not in (out / "index.html").read_text("utf-8")


def test_times_that_are_to_decide_and_of_which_none_was_tested_do_not_pass(pair):
    root = pair.write(lambda record: slower(record, steady=10), rounds=2)
    told = "Nothing became worse or better in 2 cases (4 times of too few rounds, not tested)."
    assert (reviewed(root).exit_code, reviewed(root).verdict) == (0, told)
    asked = reviewed(root, gate_times=True)
    assert asked.exit_code == 2
    assert asked.verdict == f"No verdict on times, none was tested. {told}"


def test_cells_measured_once_are_no_alarm_where_others_are_tested(made_up, pair):
    root = pair.write()
    for side, commit in (("base", BASE), ("head", HEAD)):
        made_up.write(root / side, made_up.casing_case("closure", 6), commit=commit)
    review = reviewed(root, gate_times=True)
    assert review.exit_code == 0 and review.outcome == "Passes"
    told = "Nothing became worse or better in 3 cases (2 times measured once, not tested)."
    assert review.verdict == told
    assert "1 round side by side" in review_markdown(review)


def test_commits_measured_in_two_blocks_are_apart_however_short_they_are(pair):
    """All rounds of BASE, then at once those of HEAD on a slower machine, as `asv run` does."""
    sides = sides_of_pair(pair.write(lambda record: slower(record, steady=1.08)))
    for minutes, side in ((0, sides.base), (6, sides.head)):
        for case in side.cases.values():
            for i, row in case.good.items():
                row["started_utc"] = pd.Timestamp(f"2026-11-20T10:{minutes + i:02d}:00+00:00")
    review = make_review(sides)
    assert worse(review) == set() and {f.verdict for f in review.untested} == {"apart"}
    assert review.verdict.endswith("(4 times measured apart, not tested).")


def test_a_round_with_a_third_start_between_its_two_is_none(pair):
    sides = sides_of_pair(pair.write())
    case = sides.base.cases[CLOSURE]
    assert adjacent_rounds_of(case, sides.head.cases[CLOSURE]) == (0, 1, 2, 3, 4, 5)
    between = {**case.good[0], "started_utc": pd.Timestamp("2026-11-01T10:02:10+00:00")}
    disturbed = dataclasses.replace(case, failed=(between,))
    assert adjacent_rounds_of(disturbed, sides.head.cases[CLOSURE]) == (0, 1, 3, 4, 5)
    unknown = {**case.good[0], "started_utc": pd.NaT}
    unknown = dataclasses.replace(case, good={**case.good, 0: unknown})
    assert adjacent_rounds_of(unknown, sides.head.cases[CLOSURE]) == (1, 2, 3, 4, 5)


def as_store(root, goal):
    """The records of a pair as one store of two commits."""
    for side in ("base", "head"):
        shutil.copytree(root / side, goal, dirs_exist_ok=True)
    return goal


def edited(folder, edit):
    for path in folder.rglob("*.json"):
        record = json.loads(path.read_text())
        edit(record)
        path.write_text(json.dumps(record))


def test_a_setting_that_one_commit_alone_has_is_told(made_up, pair, tmp_path):
    store = as_store(pair.write(rounds=1), tmp_path / "store")
    for commit, machine in ((BASE, "boxB"), (HEAD, "boxC")):
        shutil.copytree(store / commit / made_up.key, store / commit / machine)
        edited(store / commit / machine, lambda r, m=machine: r["environment"].update(machine=m))
    review = make_review(sides_of_store(store, BASE, HEAD))
    assert [entry.name.split("-")[0] for entry in review.sides.left_out] == ["boxB", "boxC"]
    assert "2 environments left out" in review.verdict
    told = review_markdown(review)
    assert "#### Not compared." in told and "another setting, measured at BASE alone" in told


def test_of_two_folders_of_one_setting_that_of_both_commits_is_compared(made_up, pair, tmp_path):
    store = as_store(pair.write(rounds=2), tmp_path / "store")
    more = store / HEAD / "another"
    shutil.copytree(store / HEAD / made_up.key, more)
    edited(more, lambda record: record["constants"].update(captured_bytes=10**9))
    review = make_review(sides_of_store(store, BASE, HEAD))
    assert review.exit_code == 0 and worse(review) == set()
    ((name, reason),) = ((e.name, e.reason) for e in review.sides.left_out)
    assert name == "another" and f"at HEAD; {made_up.key} is compared" in reason
    (store / BASE / made_up.key).rename(store / BASE / "third")
    max(more.rglob("*.json")).unlink()  # now none is shared: that of most processes is compared
    review = make_review(sides_of_store(store, BASE, HEAD))
    assert [entry.name for entry in review.sides.left_out] == ["another"]


def test_a_name_in_full_means_itself_though_another_begins_with_it(made_up, pair, tmp_path):
    store = as_store(pair.write(rounds=1), tmp_path / "store")
    shutil.copytree(store / HEAD, store / f"{HEAD}+slower_run")
    for commit in (BASE, HEAD):
        shutil.copytree(store / commit / made_up.key, store / commit / "flags")
        edited(store / commit / "flags", lambda r: r["environment"].update(xla_flags="--xla_a=1"))
    with pytest.raises(ReportError, match="choose one: --setting") as told:
        sides_of_store(store, BASE, HEAD)
    setting = str(told.value).split("(")[1].split(";")[0]
    sides = sides_of_store(store, BASE, HEAD, setting=setting)
    assert (sides.head.commit, sides.head.setting) == (HEAD, setting)
    assert "environment" not in make_review(sides).verdict  # the other was not asked for


def test_a_value_that_has_no_ratio_ends_no_review(pair):
    sides = sides_of_pair(pair.write())
    for value, row in zip(
        (math.inf, 0.0, pd.NA), sides.head.cases[CLOSURE].good.values(), strict=False
    ):
        row["peak_rss_bytes"] = value
    findings = {(f.case, f.metric.name): f for f in make_review(sides).findings}
    assert findings[CLOSURE, "peak_rss_bytes"].rounds_count == 3


def test_a_cell_that_measured_nothing_is_not_compared(pair):
    sides = sides_of_pair(pair.write(rounds=1))
    for side in (sides.base, sides.head):
        names = ("round_index", "status", "started_utc")
        row = {name: side.cases[CLOSURE].good[0][name] for name in names}
        side.cases[CLOSURE] = dataclasses.replace(side.cases[CLOSURE], good={0: row}, checked={})
    (entry,) = make_review(sides).lost
    assert (entry.case, entry.reason) == (CLOSURE, "its processes measured nothing")
