"""The harness: rows survive a killed run, workers write rows, docs tables follow from the rows."""

import gzip
import json

import jax
import pytest

from studies import docs, harness
from studies.__main__ import STUDIES, main
from studies.harness import (
    ROOT,
    StudyError,
    append_row,
    in_worker,
    read_rows,
    with_tables,
    write_rows,
)

COMMITTED = sorted((ROOT / "studies").glob("*/measured/*"))
OLD_WORDS = ("plant", "cell", "settled", "told", "baked", "setting", "built")


def rows(count):
    """Yield rows; a worker calls this function."""
    for number in range(count):
        if number == 3:
            raise ValueError("no row 3")
        yield {"number": number, "text": "a, b"}


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl"])
def test_a_line_that_was_cut_short_is_ignored_and_replaced(name, tmp_path):
    path = tmp_path / "new" / name
    for number in (1, 2):
        append_row(path, {"number": number, "text": "a, b"})
    path.write_bytes(path.read_bytes() + b'{"num')
    assert [int(row["number"]) for row in read_rows(path)] == [1, 2]
    append_row(path, {"number": 3, "text": "c"})
    assert [row["text"] for row in read_rows(path)] == ["a, b", "a, b", "c"]


def test_a_row_with_other_columns_than_the_file_is_refused(tmp_path):
    path = tmp_path / "rows.csv"
    append_row(path, {"number": 1, "text": "a"})
    with pytest.raises(StudyError, match=r"the columns of the new row \(number, other\)"):
        append_row(path, {"number": 2, "other": "b"})
    assert len(read_rows(path)) == 1


@pytest.mark.parametrize(
    "name, data",
    [
        ("rows.jsonl", b'{"a": 1}\n{"b\n{"a": 2}\n'),
        ("rows.csv", b"a\n\xff\n"),
        ("rows.csv.gz", gzip.compress(b"a\n1\n", mtime=0)[:-9]),
        ("rows.csv.gz", b"a\n1\n"),
    ],
)
def test_a_damaged_file_of_rows_is_an_error_with_its_path(name, data, tmp_path):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(StudyError, match=f"cannot read the rows in .*{name}"):
        read_rows(tmp_path / name)


def test_the_same_rows_give_the_same_bytes(tmp_path):
    for name in ("rows.csv", "rows.csv.gz"):
        made = []
        for _ in range(2):
            write_rows(tmp_path / name, [{"a": 1}, {"a": 2, "b": 3}])
            made.append((tmp_path / name).read_bytes())
        assert made[0] == made[1]
        assert read_rows(tmp_path / name) == [{"a": "1", "b": ""}, {"a": "2", "b": "3"}]


def test_a_worker_appends_its_rows_and_environment_and_a_failure_keeps_them(tmp_path):
    path = tmp_path / "rows.csv"
    in_worker(rows, path, {"count": 2})
    assert "jax" in json.loads((tmp_path / "rows.environment.json").read_text())
    with pytest.raises(StudyError, match="exit code"):
        in_worker(rows, path, {"count": 9})
    assert [row["number"] for row in read_rows(path)] == ["0", "1", "0", "1", "2"]


@pytest.mark.parametrize(
    "study, name", [("compile", "slow_lines_jax_{}.csv"), ("situations", "jax_{}.csv")]
)
def test_an_interrupted_study_keeps_the_rows_of_an_earlier_run(study, name, tmp_path, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(harness, "run_module", interrupted)
    file = tmp_path / name.format(jax.__version__)
    file.write_text("a\n1\n")
    assert main([study, "--out", str(tmp_path)]) == 130
    assert file.read_text() == "a\n1\n"


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: "/".join(path.parts[-3:]))
def test_every_committed_file_is_readable_and_has_no_old_words(path):
    if path.suffix == ".json":
        assert json.loads(path.read_text())
        return
    found = read_rows(path)
    columns = " ".join(found[0])
    assert len(found) > 0 and not [word for word in OLD_WORDS if word in columns]
    values = str([list(row.values()) for row in found])
    assert not [word for word in ("settled", "planted", "worse", "build_") if word in values]


def test_the_docs_have_every_table_and_the_tables_follow_from_the_committed_rows():
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")]
    written = [with_tables(text, docs.TABLES) for text in texts]
    assert written == texts, "write them again: python -m studies docs"
    assert [n for n in docs.TABLES if f"<!-- rows: {n} -->" not in "".join(texts)] == []


@pytest.mark.parametrize("study", STUDIES)
def test_every_study_has_a_command_with_help(study, capsys):
    with pytest.raises(SystemExit, match="0"):
        main([study, "--help"])
    assert f"python -m studies {study}" in capsys.readouterr().out


def test_a_study_that_cannot_be_measured_is_one_line_and_exit_code_2(tmp_path, capsys):
    for given in ("quiet=absent.jsonl", "quiet"):
        assert main(["verdicts", given, "--out", str(tmp_path)]) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"studies verdicts: got {given!r}") and error.count("\n") == 1
