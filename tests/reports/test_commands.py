"""Exit codes of the commands, and the files they leave."""

import pytest

from reports import ReportError, __main__
from reports.__main__ import main
from reports.document.write import write_whole
from tests.reports import made_up
from tests.reports.review.pairs import Pair


@pytest.mark.parametrize("command", ["build", "history", "review", "merge"])
def test_an_unexpected_error_exits_2_with_its_traceback(monkeypatch, capsys, command):
    def answer(options):
        raise RecursionError("too deep")

    monkeypatch.setattr(__main__, command, answer)
    assert main([command, *(["a", "--into", "b"] if command == "merge" else [])]) == 2
    errors = capsys.readouterr().err
    assert "Traceback" in errors and "RecursionError: too deep" in errors


def test_commit_names_together_with_a_pair_are_an_error(tmp_path, capsys):
    pair = str(Pair(tmp_path / "pair").write(rounds=1))
    for names in (["nonsense"], ["nonsense", "other"]):
        assert main(["review", *names, "--pair", pair, "--out", str(tmp_path / "out")]) == 2
        assert "nonsense" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


TEXTS = {"review.json": "{}", "review.md": "x", "index.html": "y"}


@pytest.mark.parametrize("left", [["review.json.7f.tmp"], ["review.json", "review.md.05.tmp"]])
def test_an_interrupted_write_does_not_stop_the_next(tmp_path, left):
    for name in left:
        (tmp_path / name).write_text("half")
    write_whole(tmp_path, TEXTS, kind="review")
    assert {name: (tmp_path / name).read_text() for name in TEXTS} == TEXTS


@pytest.mark.parametrize("left", ["out", "out/index.html", "out/chapter.tex"])
@pytest.mark.parametrize("command", ["build", "history"])
def test_commands_replace_no_file_and_no_folder_with_other_files(tmp_path, capsys, command, left):
    made_up.write(tmp_path / "cases", made_up.casing_case("closure", 3))
    (tmp_path / left).parent.mkdir(exist_ok=True)
    (tmp_path / left).write_text("mine")
    where = ["--store", str(tmp_path / "cases"), "--out", str(tmp_path / "out")]
    assert main([command, *where]) == 2
    assert "is not an earlier" in capsys.readouterr().err
    (kept,) = (path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".json")
    assert kept == tmp_path / left and kept.read_text() == "mine"


@pytest.mark.parametrize("left", ["notes.txt", "index.html", "notes.tmp"])
def test_nothing_is_written_into_a_folder_with_other_files(tmp_path, left):
    (tmp_path / left).write_text("mine")
    with pytest.raises(ReportError, match="not an earlier review"):
        write_whole(tmp_path, TEXTS, kind="review")
    assert [path.name for path in tmp_path.iterdir()] == [left]
