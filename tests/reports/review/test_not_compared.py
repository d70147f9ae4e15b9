"""Cases, files and environments that are missing, broken, or must not be compared."""

import dataclasses
import json
import shutil

import pytest

from reports import ReportError
from reports.__main__ import main
from reports.review import make_review, read_commits, read_pair, review_markdown
from tests.reports import made_up
from tests.reports.review.pairs import BASE, CLOSURE, HEAD, regressions, reviewed


@pytest.mark.parametrize("other", [{"jax": "0.7.2", "jaxlib": "0.7.2"}, {"machine": "elsewhere"}])
def test_two_jax_versions_or_machines_are_refused_with_the_reason(pair, capsys, tmp_path, other):
    root = pair.write(**other)
    with pytest.raises(ReportError, match="two machines or two JAX versions are never compared"):
        read_pair(root)
    out = tmp_path / "out"
    assert main(["review", "--pair", str(root), "--out", str(out)]) == 2
    assert next(iter(other.values())) in capsys.readouterr().err and not out.exists()


def test_new_removed_broken_and_redefined_cases_are_listed_with_their_reasons(pair):
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
    expected = {
        "casing_variants/w7x-closure-d6": "not measured at BASE",
        "casing_variants/w7x-closure-d9": "not measured at HEAD",
        case.name: "failed at HEAD in 1 of 1 processes: Timeout",
        "a/b": "no process succeeded at BASE and HEAD",
        "chunk_sweep/x": "parameters changed",
    }
    assert reasons.keys() == expected.keys()
    assert all(text in reasons[name] for name, text in expected.items())
    assert review.exit_code == 1 and [entry.case for entry in review.broken] == [case.name]
    assert "1 case broken" in review.verdict


def test_a_case_that_head_lacks_and_an_unreadable_file_are_counted_in_the_verdict(pair):
    root = pair.write()
    (garbled, *gone) = sorted((root / "head").rglob("w7x-argument-d3/*.json"))
    garbled.write_text(garbled.read_text()[:500])
    assert reviewed(root).verdict.endswith("; 2 cases compared (1 unreadable file skipped).")
    for path in (garbled, *gone):
        path.unlink()
    assert reviewed(root).verdict.endswith("; 1 case compared (1 case not compared).")


def test_a_regression_injected_into_a_commit_is_in_the_title(pair):
    commits = read_pair(pair.write())
    injected = dataclasses.replace(commits.head, commit=f"{BASE}+captured_array")
    text = review_markdown(make_review(dataclasses.replace(commits, head=injected)))
    assert text.startswith("### Review of bbbbbbbbbb+captured_array against bbbbbbbbbb\n")


def as_store(root, goal):
    """Copy the records of a pair into one store of two commits, and return the store."""
    for side in ("base", "head"):
        shutil.copytree(root / side, goal, dirs_exist_ok=True)
    return goal


def edit_records(folder, edit):
    for path in folder.rglob("*.json"):
        record = json.loads(path.read_text())
        edit(record)
        path.write_text(json.dumps(record))


def test_commits_of_a_store_are_found_by_the_beginning_of_their_names(pair, tmp_path):
    store = as_store(pair.write(rounds=1), tmp_path / "store")
    commits = read_commits(store, "bb", "dd")
    assert (commits.base.commit, commits.head.commit) == (BASE, HEAD)
    with pytest.raises(ReportError, match="no commit that matches 'main'; give .*: bbbb"):
        read_commits(store, "main", "dd", repository=tmp_path)
    with pytest.raises(ReportError, match="are the same commit.*benchmarks.measuring.pair"):
        read_commits(store, BASE, BASE[:8])


def test_a_full_name_is_its_commit_even_if_a_longer_name_begins_with_it(pair, tmp_path):
    store = as_store(pair.write(rounds=1), tmp_path / "store")
    shutil.copytree(store / HEAD, store / f"{HEAD}+slower_run")
    for commit in (BASE, HEAD):
        flags = store / commit / "flags"
        shutil.copytree(store / commit / made_up.KEY, flags)
        edit_records(flags, lambda r: r["environment"].update(xla_flags="--xla_a=1"))
    with pytest.raises(ReportError, match=r"\); give --environment the beginning") as raised:
        read_commits(store, BASE, HEAD)
    environment = str(raised.value).split("(")[1].split(";")[0]
    commits = read_commits(store, BASE, HEAD, environment=environment)
    assert (commits.head.commit, commits.environment) == (HEAD, environment)
    assert "environment" not in make_review(commits).verdict  # the other one was not chosen


def test_a_review_that_compares_nothing_does_not_pass(pair, tmp_path, capsys):
    root = pair.write(rounds=1)
    (suite,) = (root / "head" / HEAD).glob("*/*")
    suite.rename(suite.with_name("renamed"))
    out = tmp_path / "out"
    assert main(["review", "--pair", str(root), "--out", str(out)]) == 2
    assert capsys.readouterr().out.splitlines() == [
        "Exact: not judged – no case has numbers at both commits",
        "Times: not judged – no case was timed",
        "No verdict: nothing could be compared (4 cases not compared).",
    ]
    assert "No verdict: nothing" in (out / "review.md").read_text("utf-8")
    assert json.loads((out / "review.json").read_text("utf-8"))["exit_code"] == 2
    assert "Passes" not in (out / "index.html").read_text("utf-8")


def test_cases_measured_once_raise_no_alarm_where_others_are_tested(pair):
    root = pair.write()
    for side, commit in (("base", BASE), ("head", HEAD)):
        made_up.write(root / side, made_up.casing_case("closure", 6), commit=commit)
    review = reviewed(root, gate_times=True)
    assert review.exit_code == 0
    assert review.verdict == (
        "Passes: no regression or improvement; 3 cases compared "
        "(2 times with one round, not tested)."
    )
    assert "1 paired round" in review_markdown(review)


def test_an_environment_of_only_one_commit_is_reported(pair, tmp_path):
    store = as_store(pair.write(rounds=1), tmp_path / "store")
    for commit, machine in ((BASE, "boxB"), (HEAD, "boxC")):
        shutil.copytree(store / commit / made_up.KEY, store / commit / machine)
        edit_records(
            store / commit / machine, lambda r, name=machine: r["environment"].update(machine=name)
        )
    review = make_review(read_commits(store, BASE, HEAD))
    assert [entry.name.split("-")[0] for entry in review.commits.left_out] == ["boxB", "boxC"]
    assert "2 environments left out" in review.verdict
    text = review_markdown(review)
    assert "#### Not compared." in text and "another environment, measured at BASE alone" in text


def test_the_folder_that_both_commits_have_is_compared(pair, tmp_path):
    store = as_store(pair.write(rounds=2), tmp_path / "store")
    more = store / HEAD / "another"
    shutil.copytree(store / HEAD / made_up.KEY, more)
    edit_records(more, lambda record: record["constants"].update(captured_bytes=10**9))
    review = make_review(read_commits(store, BASE, HEAD))
    assert review.exit_code == 0 and regressions(review) == set()
    ((name, reason),) = ((e.name, e.reason) for e in review.commits.left_out)
    assert name == "another" and f"at HEAD; only {made_up.KEY} is compared" in reason
    (store / BASE / made_up.KEY).rename(store / BASE / "third")
    # Now the commits share no folder, and the folder with the most processes is compared.
    max(more.rglob("*.json")).unlink()
    review = make_review(read_commits(store, BASE, HEAD))
    assert [entry.name for entry in review.commits.left_out] == ["another"]


def test_a_case_that_measured_nothing_is_not_compared(pair):
    commits = read_pair(pair.write(rounds=1))
    for side in (commits.base, commits.head):
        names = ("round_index", "status", "started_utc")
        row = {name: side.cases[CLOSURE].good[0][name] for name in names}
        side.cases[CLOSURE] = dataclasses.replace(side.cases[CLOSURE], good={0: row})
    (entry,) = make_review(commits).lost
    assert (entry.case, entry.reason) == (CLOSURE, "its processes measured nothing")
