"""memory: processes of their own for each choice, the table, and the front."""

import json
from pathlib import Path

import pandas as pd
import pytest


@pytest.fixture(scope="module")
def memory(script):
    return script("memory")


@pytest.fixture(autouse=True)
def here(monkeypatch, memory):
    monkeypatch.chdir(Path(__file__).parent)
    # Whoever edits vcjax while the tests run shall not confuse them.
    monkeypatch.setattr(memory.scripting, "code_version", lambda: "this")


def test_choices_are_measured_once_and_failures_do_not_stop_the_others(memory, tmp_path, capsys):
    command = ["profiled:scoped", "-p", "size=100", "--vary", "chunk=2,50,nonsense"]
    command += ["--repeat", "3", "--out", str(tmp_path)]
    assert memory.main(command) == 1
    table = pd.read_parquet(tmp_path / "memory.parquet")
    rows = {json.loads(row["parameters"])["chunk"]: row for row in table.to_dict("records")}
    assert rows["nonsense"]["status"] == "failed" and rows["nonsense"]["failure"]
    small, large = rows[2], rows[50]
    assert small["temp_bytes"] < large["temp_bytes"]
    assert large["run_peak_bytes"] >= large["temp_bytes"] > 2_000_000
    assert small["is_front"] or small["seconds"] > large["seconds"]
    files = sorted((tmp_path / "cells").rglob("0.json"))
    before = [path.stat().st_mtime_ns for path in files]
    capsys.readouterr()
    assert memory.main([*command[:4], "chunk=2,50", *command[5:]]) == 0
    assert capsys.readouterr().err.count(": kept") == 2
    assert before == [path.stat().st_mtime_ns for path in files]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--vary", "chunk"], "give NAME=VALUE"),
        (["--rounds", "0"], "give 1 or more"),
        (["--arg", "f64[3]"], "name a function that makes a Case"),
    ],
)
def test_bad_usage_is_a_message(memory, arguments, message, tmp_path, capsys):
    assert memory.main(["profiled:scoped", *arguments, "--out", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err
