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


def test_a_second_run_names_the_folder_of_its_own_dump(xla_dump, tmp_path):
    for name in ("dump", "dump-2"):
        assert xla_dump.main(["profiled:scoped", "-p", "chunk=20", "--out", str(tmp_path)]) == 0
        saved = json.loads((tmp_path / "environment.json").read_text())
        assert saved["source"] == str(tmp_path / name)
