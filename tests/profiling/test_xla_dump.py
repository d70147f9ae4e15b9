"""xla_dump: a function or a folder becomes tables, and a table of differences."""

from pathlib import Path

import pandas as pd
import pytest


@pytest.fixture(scope="module")
def xla_dump(script):
    return script("xla_dump")


@pytest.fixture(autouse=True)
def here(monkeypatch):
    monkeypatch.chdir(Path(__file__).parent)


def test_a_function_is_dumped_and_compared_with_other_parameters(xla_dump, tmp_path, capsys):
    command = ["profiled:scoped", "-p", "chunk=20", "--than", "chunk=5", "--out", str(tmp_path)]
    assert xla_dump.main(command) == 0
    found = pd.read_parquet(tmp_path / "dump_diff.parquet")
    grown = found.query("what == 'buffer' and change_bytes > 0").to_dict("records")
    assert any("products" in row["item"] for row in grown)
    assert "dump_buffers" in capsys.readouterr().out
    again = tmp_path / "again"
    folders = [str(tmp_path / name) for name in ("dump", "dump-than")]
    assert xla_dump.main([folders[0], "--than", folders[1], "--out", str(again)]) == 0
    pd.testing.assert_frame_equal(found, pd.read_parquet(again / "dump_diff.parquet"))


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nowhere/at_all"], 2, "neither an existing file or folder"),
        (["."], 2, "has no *after_optimizations.txt"),
        (["profiled:failing"], 3, "AttributeError"),
        (["profiled:scoped", "--than", "nowhere"], 2, "give one existing folder"),
    ],
)
def test_bad_targets_have_a_message_and_an_exit_code(
    xla_dump, arguments, code, message, tmp_path, capsys
):
    assert xla_dump.main([*arguments, "--out", str(tmp_path)]) == code
    assert message in capsys.readouterr().err
