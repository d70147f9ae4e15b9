"""The commits that a review measures, and its comment on a pull request."""

import json
import subprocess

import pytest

from benchmarks.measuring import checkout
from tools import comment, review


@pytest.fixture
def history(tmp_path, monkeypatch):
    """Three commits: `topic` leaves `main` at its first one."""

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


@pytest.fixture
def github(tmp_path, monkeypatch):
    """Stand in for `gh api`, as GitHub's REST reference describes issue comments."""
    found, written = [], []

    def gh(*arguments, text=None):
        if "--jq" in arguments:
            assert comment.MARK in arguments[-1]
            return "\n".join(found)
        written.append((arguments[2], arguments[3].split("/")[-2:], text))
        return json.dumps({"id": 7})

    monkeypatch.setattr(comment, "gh", gh)
    path = tmp_path / "review.md"

    def write_comment(text=None):
        if text is not None:
            path.write_text(text)
        return comment.main(["12", str(path), "--head", "c" * 40])

    return write_comment, found, written


def test_the_first_review_is_a_new_comment_and_the_next_replaces_it(github):
    write_comment, found, written = github
    assert write_comment("**Passes.**") == 0
    found[:] = ["4", "5"]
    assert write_comment("**Regression.**") == 0
    assert [one[:2] for one in written] == [
        ("POST", ["12", "comments"]),
        ("PATCH", ["comments", "5"]),
    ]
    assert written[1][2] == f"{comment.MARK}\n**Regression.**"


def test_without_a_review_the_comment_says_so_and_a_long_one_is_cut(github):
    write_comment, _, written = github
    assert write_comment() == 0
    assert "No review of cccccccccc" in written[0][2]
    assert write_comment("x" * 100_000) == 0
    assert len(written[1][2]) < 65_536 and written[1][2].endswith("has the rest.")


def test_a_refusal_is_exit_code_2_with_its_reason(github, monkeypatch, capsys):
    def refused(*arguments, text=None):
        raise subprocess.CalledProcessError(1, "gh", stderr="HTTP 403: not accessible")

    monkeypatch.setattr(comment, "gh", refused)
    assert github[0]("**Passes.**") == 2
    assert "HTTP 403" in capsys.readouterr().err
