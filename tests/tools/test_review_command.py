"""The commits that a review measures."""

import subprocess

import pytest

from benchmarks.measuring import checkout
from tools import review


@pytest.fixture
def history(tmp_path, monkeypatch):
    """Make three commits, with `topic` branched off from the first of `main`, and return them."""

    def git(*arguments):
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)

    def commit(text):
        git("commit", "--allow-empty", "-qm", text)
        return git("rev-parse", "HEAD").stdout.strip()

    git("init", "-q", "-b", "main")
    first = commit("first")
    git("checkout", "-qb", "topic")
    topic = commit("topic")
    git("checkout", "-q", "main")
    monkeypatch.setattr(checkout, "ROOT", tmp_path)
    return first, topic, commit("second")


@pytest.fixture
def commands(monkeypatch):
    """Collect the arguments of both commands instead of running them."""
    ran = []
    monkeypatch.setattr(review.pair, "main", lambda arguments: ran.append(arguments) or 0)
    monkeypatch.setattr(review.reports, "main", lambda arguments: ran.append(arguments) or 0)
    return ran


def test_head_is_compared_with_the_commit_where_it_branched_off(history, commands, tmp_path):
    first, topic, _ = history
    assert review.main(["main", "topic", "--out", str(tmp_path), "--gate-times"]) == 0
    measured, judged = commands
    assert measured[:2] == [first, topic]
    assert judged[0] == "review" and judged[-1] == "--gate-times"


@pytest.mark.parametrize("pair", [("main", "main"), ("main", "main~1"), ("topic", "main~1")])
def test_a_head_that_base_contains_is_refused(history, commands, capsys, pair):
    assert review.main(list(pair)) == 2 and not commands
    assert "BASE contains HEAD" in capsys.readouterr().err


def test_an_unknown_commit_is_refused(history, commands, capsys):
    assert review.main(["nonsense", "main"]) == 2 and not commands
    assert "nonsense" in capsys.readouterr().err


def test_a_branch_that_looks_like_an_option_is_a_commit_and_writes_nothing(
    history, commands, tmp_path, monkeypatch
):
    canary = tmp_path / "canary"
    monkeypatch.chdir(tmp_path)
    for name in ("--output=canary", "--all", "; touch canary", "$(touch canary)"):
        assert review.main(["--", name, "topic"]) == 2 and not commands
    branch = ["git", "update-ref", "refs/heads/--output=canary", history[0]]
    subprocess.run(branch, cwd=tmp_path, check=True)
    assert review.main(["--out", str(tmp_path), "--", "--output=canary", "topic"]) == 0
    assert commands[0][:2] == list(history[:2]) and not canary.exists()
