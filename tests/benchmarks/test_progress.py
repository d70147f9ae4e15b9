"""The view of a run: what it counts, says and remembers."""

import json

import pytest

from benchmarks.measuring.progress import View, drawn


@pytest.fixture
def files(tmp_path):
    return tmp_path / "progress.jsonl", tmp_path / "asv.log"


def append(path, *events):
    with open(path, "a") as stream:
        for event in events:
            stream.write(json.dumps(event) + "\n")


def one_round(case, status="ok", message=""):
    event = {"event": "round", "suite": "s", "case": case, "round": 0}
    return {**event, "status": status, "message": message}


def test_rounds_advance_and_a_finished_suite_fills_up(files):
    view = View({"s": 3, "t": 2}, *files)
    append(files[0], one_round("s/a"), one_round("s/b", "kept"))
    assert view.advance() == ["[1/5] s/a, process 1: ok", "[2/5] s/b, process 1: kept"]
    assert (view.done, view.total) == (2, 5)
    append(files[0], {"event": "suite", "suite": "s", "seconds": 61.2})
    assert view.advance() == ["[3/5] s done in 61 s, 1 rounds left out for lack of time"]
    assert (view.done, view.total) == (3, 5)
    append(files[0], {"event": "suite", "suite": "t", "seconds": 1.0})
    view.advance()
    assert view.doing == "asv reads the results"


def test_several_commits_fill_their_share_each(files):
    view = View({"s": 2}, *files, times_count=2)
    append(files[0], one_round("s/a"), {"event": "suite", "suite": "s", "seconds": 5.0})
    assert view.advance()[-1] == "[2/4] s done in 5 s, 1 rounds left out for lack of time"
    append(files[0], one_round("s/a"), one_round("s/b"))
    view.advance()
    append(files[0], {"event": "suite", "suite": "s", "seconds": 5.0})
    assert view.advance() == ["[4/4] s done in 5 s"]


def test_a_round_that_has_begun_is_what_is_being_done_and_no_line_of_its_own(files):
    view = View({"s": 3}, *files)
    append(files[0], {"event": "start", "suite": "s", "case": "s/a", "round": 1})
    assert view.advance() == []
    assert view.doing == "s/a, process 2"
    assert view.done == 0


def test_a_line_that_is_not_whole_yet_waits(files):
    view = View({"s": 1}, *files)
    text = json.dumps(one_round("s/a"))
    files[0].write_text(text[:20])
    assert view.advance() == []
    with open(files[0], "a") as stream:
        stream.write(text[20:] + "\n")
    assert len(view.advance()) == 1


def test_asv_lines_say_what_goes_on_between_rounds(files):
    view = View({"s": 1}, *files)
    files[1].write_text("· Creating environments\n")
    view.advance()
    assert view.doing.startswith("creating asv's environment")
    with open(files[1], "a") as stream:
        stream.write("[ 0.00%] ··· Building 1234 for env\n···· For parameters: 6\nnoise\n")
    view.advance()
    assert view.doing == "building the commit"


def test_failed_rounds_are_remembered_with_their_reason(files):
    view = View({"s": 1}, *files)
    append(files[0], one_round("s/a", "timeout", "slow"))
    view.advance()
    assert view.problems == ["s/a: timeout: slow"]


def test_without_a_terminal_each_event_is_a_plain_line(files, capsys):
    view = View({"s": 1}, *files)
    with drawn(view) as draw:
        append(files[0], one_round("s/a"))
        draw()
    assert capsys.readouterr().out == "[1/1] s/a, process 1: ok\n"
