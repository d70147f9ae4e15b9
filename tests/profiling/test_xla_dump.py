"""xla_dump: a function or a folder becomes tables, and a table of differences."""

import json

import pandas as pd


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

    # A second run into the same folder makes and names another folder for its dump.
    assert source_of(tmp_path) == folders[0]
    assert xla_dump.main(["profiled:scoped", "--out", str(tmp_path)]) == 0
    assert source_of(tmp_path) == str(tmp_path / "dump-2")


def source_of(folder):
    return json.loads((folder / "environment.json").read_text())["source"]
