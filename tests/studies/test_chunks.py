"""The tile size study: which size is recommended, how far "auto" is, the variables to set."""

import dataclasses
import subprocess

import pytest

from jaxmeter import Failure, Record, host_environment
from studies.__main__ import main
from studies.chunks import cases, page, study, tables

SIZES = {"256,80": (1.02, 10), "1024,80": (1.0, 50), "4096,320": (2.0, 5)}


def record(factor=1.0, times=SIZES, auto=(4096, 320)):
    extras = {"auto:chunk_size": auto[0], "auto:target_chunk_size": auto[1]}
    for name, (seconds, temp_bytes) in times.items():
        extras |= {f"{name}:seconds{n}": factor * seconds * (1 + 0.1 * n) for n in range(3)}
        extras |= {f"{name}:temp_bytes": temp_bytes, f"{name}:flops": 8.0}
        extras |= {f"{name}:accessed_bytes": 2.0, f"{name}:far_fraction": 0.9}
    return Record("study", "ok", extras=extras)


def test_the_size_with_the_least_memory_among_equally_fast_sizes_is_recommended():
    records = {"B": [record(), record(3.0)]}
    rows = {row["chunk_size"]: row for row in tables.size_rows(records)}
    assert [size for size in rows if rows[size]["is_recommended"]] == [256]
    assert [size for size in rows if rows[size]["is_auto"]] == [4096]
    assert rows[256]["ratio_to_auto"] == pytest.approx(0.51)  # paired: the second was slow
    assert rows[256]["ratio_to_best"] == pytest.approx(1.02)
    assert rows[256]["flops_per_byte"] == 4.0 and rows[256]["processes_count"] == 2
    assert set(rows[256]) <= set(tables.COLUMNS)
    (advice,) = tables.advice_rows(records)
    assert advice["auto_ratio_to_best"] == pytest.approx(2.0)
    assert advice["held_out_ratio_to_best"] == pytest.approx(1.02)
    assert set(advice) == set(tables.ADVICE_COLUMNS)


def test_a_lucky_choice_shows_in_the_held_out_ratio():
    lucky = {**SIZES, "4096,320": (0.5, 5)}
    (advice,) = tables.advice_rows({"B": [record(times=lucky), record()]})
    assert advice["held_out_ratio_to_best"] == pytest.approx(2.0)


def test_a_shell_reads_the_variables_and_failed_processes_are_left_out(tmp_path):
    failed = Record("study", "failed", failure=Failure("setup", "MemoryError", "none left"))
    records = {"GRADB": [record(), failed], "B": [failed]}
    assert {row["operator"] for row in tables.size_rows(records)} == {"GRADB"}
    path = tmp_path / "chunks.env"
    path.write_text(page.variables(tables.advice_rows(records)))
    command = f". {path}; echo $VCJAX_CHUNK_GRADB_SRC,$VCJAX_CHUNK_GRADB_TRG"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "256,80"


def test_the_page_marks_the_recommendation_and_auto():
    records = {"B": [record(), record(3.0)]}
    sizes, advice = tables.size_rows(records), tables.advice_rows(records)
    lines = page.page(sizes, advice, host_environment(), "w7x").splitlines()
    assert "| B | 256, 80 | 1.020 | 1.020 | 2.000 | 0.0 MB | 0.0 MB |" in lines
    assert "| 256 | **1.020** |  |" in lines
    assert "| 4096 |  | *2.000* |" in lines
    assert "export VCJAX_CHUNK_B_SRC=256" in lines


@pytest.fixture
def command(monkeypatch, tmp_path):
    """Return the command with its workers replaced, and the cases that it planned."""
    planned, failure = [], []

    def measure_plan(cases, store, *, run_case):
        planned.extend(cases)
        found = (
            dataclasses.replace(record(), status="failed", failure=failure[0])
            if failure
            else (record())
        )
        return {case.name: [found] * case.rounds for case in cases}

    monkeypatch.setattr(study, "measure_plan", measure_plan)

    def run(*arguments):
        return main(["chunks", *arguments, "--out", str(tmp_path)])

    return run, planned, failure


def test_the_first_process_of_an_operator_traces_and_the_others_do_not(command, tmp_path):
    run, planned, _ = command
    assert run("--operators", "B", "GRADB", "--rounds", "3") == 0
    found = [(case.params["operator"], case.params["traced"], case.rounds) for case in planned]
    assert found == [("B", True, 1), ("GRADB", True, 1), ("B", False, 2), ("GRADB", False, 2)]
    assert "VCJAX_CHUNK_GRADB_SRC=256" in (tmp_path / "chunks.env").read_text()
    assert "# Tile sizes" in (tmp_path / "chunks.md").read_text()


def test_without_a_measured_process_the_tables_stay_as_they_were(command, tmp_path, capsys):
    run, _, failure = command
    assert run("--operators", "B") == 0
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    failure.append(Failure("setup", "KeyError", "no such case"))
    assert run("--operators", "B") == 2
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    error = capsys.readouterr().err
    assert "KeyError: no such case" in error and "not written" in error


@pytest.mark.parametrize("arguments", [["--rounds", "0"], ["--chunk-sizes", "0"]])
def test_numbers_below_1_are_refused(command, arguments, capsys):
    assert command[0](*arguments) == 2
    assert "give 1 or more" in capsys.readouterr().err


def test_sizes_set_in_the_environment_are_refused(command, monkeypatch, capsys):
    monkeypatch.setenv("VCJAX_CHUNK_B", "64")
    assert command[0]() == 2
    assert "hide" in capsys.readouterr().err


def test_one_operator_is_measured_at_all_sizes_with_memory_and_the_share_of_the_far_field():
    case = cases.all_sizes(
        operator="B", case="case_vc", digits=1, repeat=2, sizes="[[16, 8]]", traced=True
    )
    rows = tables.size_rows({"B": [Record("study", "ok", extras=dict(case.extras))]})
    assert {(row["chunk_size"], row["is_auto"]) for row in rows} >= {(16, False)}
    assert len(rows) == 2 and all(row["temp_bytes"] > 0 for row in rows)
    assert all(row["largest_temp_bytes"] > 0 for row in rows)
    assert all(0 < row["far_fraction"] <= 1 and row["fusions_count"] > 0 for row in rows)
    assert rows[0]["error_relative"] == pytest.approx(rows[1]["error_relative"], rel=1e-6)
