"""chunk_study: which size is recommended, how far "auto" is, and what is written to use it."""

import dataclasses
import subprocess

import pytest

import chunk_page
import chunk_tables
from jaxmeter import Failure, Record

SIZES = {"256,80": (1.02, 10), "1024,80": (1.0, 50), "4096,320": (2.0, 5)}


def record(factor=1.0, times=SIZES, auto=(4096, 320)):
    extras = {"auto:chunk_size": auto[0], "auto:target_chunk_size": auto[1]}
    for name, (seconds, temp_bytes) in times.items():
        extras |= {f"{name}:seconds{n}": factor * seconds * (1 + 0.1 * n) for n in range(3)}
        extras |= {f"{name}:temp_bytes": temp_bytes, f"{name}:flops": 8.0}
        extras |= {f"{name}:accessed_bytes": 2.0, f"{name}:far_fraction": 0.9}
    return Record("study", "ok", extras=extras)


def test_of_the_sizes_that_are_as_fast_that_with_the_least_memory_is_recommended():
    tables = chunk_tables.tables({"B": [record(), record(3.0)]})
    rows = {row["chunk_size"]: row for row in tables["chunk_study"].to_dict("records")}
    assert [size for size in rows if rows[size]["is_recommended"]] == [256]
    assert [size for size in rows if rows[size]["is_auto"]] == [4096]
    assert rows[256]["ratio_to_auto"] == pytest.approx(0.51)  # paired: the second was slow
    assert rows[256]["ratio_to_best"] == pytest.approx(1.02)
    assert rows[256]["flops_per_byte"] == 4.0 and rows[256]["processes_count"] == 2
    (advice,) = tables["chunk_recommendations"].to_dict("records")
    assert advice["auto_ratio_to_best"] == pytest.approx(2.0)
    assert advice["held_out_ratio_to_best"] == pytest.approx(1.02)


def test_a_choice_that_was_luck_shows_where_it_is_held_out():
    lucky = {**SIZES, "4096,320": (0.5, 5)}
    tables = chunk_tables.tables({"B": [record(times=lucky), record()]})
    (advice,) = tables["chunk_recommendations"].to_dict("records")
    assert advice["held_out_ratio_to_best"] == pytest.approx(2.0)


def test_the_variables_can_be_read_by_a_shell_and_failures_are_left_out(tmp_path):
    failed = Record("study", "failed", failure=Failure("setup", "MemoryError", "none left"))
    tables = chunk_tables.tables({"GRADB": [record(), failed], "B": [failed]})
    assert set(tables["chunk_study"]["operator"]) == {"GRADB"}
    path = tmp_path / "chunks.env"
    path.write_text(chunk_tables.environment(tables))
    command = f". {path}; echo $VCJAX_CHUNK_GRADB_SRC,$VCJAX_CHUNK_GRADB_TRG"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "256,80"


def test_the_page_marks_what_is_recommended_and_what_auto_is():
    tables = chunk_tables.tables({"B": [record(), record(3.0)]})
    lines = chunk_page.page(tables, None, "w7x").splitlines()
    assert "| B | 256, 80 | 1.020 | 1.020 | 2.000 | 0.0 MB | 0.0 MB |" in lines
    assert "| 256 | **1.020** |  |" in lines
    assert "| 4096 |  | *2.000* |" in lines
    assert "export VCJAX_CHUNK_B_SRC=256" in lines


@pytest.fixture
def study(script, monkeypatch):
    """The script, its workers replaced: `study.asked` tells what they were to do."""
    study = script("chunk_study")
    study.asked, study.status = [], "ok"

    def measured(points, store, *, params, rounds, **rest):
        study.asked += [(params(point), rounds) for point in points.values()]
        failure = None if study.status == "ok" else Failure("setup", "KeyError", "no such case")
        one = dataclasses.replace(record(), status=study.status, failure=failure)
        return [[one] * rounds for _ in points]

    monkeypatch.setattr(study.scripting, "measured", measured)
    return study


def test_the_first_process_of_an_operator_traces_and_the_others_do_not(study, tmp_path):
    command = ["--operators", "B", "GRADB", "--rounds", "3", "--out", str(tmp_path)]
    assert study.main(command) == 0
    told = [(one["operator"], one["traced"], rounds) for one, rounds in study.asked]
    assert told == [("B", True, 1), ("GRADB", True, 1), ("B", False, 2), ("GRADB", False, 2)]
    assert "VCJAX_CHUNK_GRADB_SRC=256" in (tmp_path / "chunks.env").read_text()
    assert "# Tile sizes" in (tmp_path / "chunks.md").read_text()


def test_where_nothing_could_be_measured_the_tables_are_left_as_they_were(study, tmp_path, capsys):
    assert study.main(["--operators", "B", "--out", str(tmp_path)]) == 0
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    study.status = "failed"
    assert study.main(["--operators", "B", "--out", str(tmp_path)]) == 2
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    told = capsys.readouterr().err
    assert "KeyError: no such case" in told and "as they were" in told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rounds", "0"], "give 1 or more"),
        (["--chunk-sizes", "0"], "give 1 or more"),
        (["--operators", "C"], "invalid choice"),
    ],
)
def test_bad_usage_is_a_message(script, arguments, message, tmp_path, capsys):
    assert script("chunk_study").main([*arguments, "--out", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err


def test_sizes_set_in_the_environment_are_refused(script, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("VCJAX_CHUNK_B", "64")
    assert script("chunk_study").main(["--out", str(tmp_path)]) == 2
    assert "hide" in capsys.readouterr().err


def test_one_operator_is_measured_at_all_sizes_with_memory_and_the_share_of_the_far_field(script):
    script("chunk_study")
    import chunk_cases

    case = chunk_cases.all_sizes(
        operator="B", case="case_vc", digits=1, repeat=2, sizes="[[16, 8]]", traced=True
    )
    done = Record("study", "ok", extras=dict(case.extras))
    rows = chunk_tables.tables({"B": [done]})["chunk_study"].to_dict("records")
    assert {(row["chunk_size"], row["is_auto"]) for row in rows} >= {(16, False)}
    assert len(rows) == 2 and all(row["temp_bytes"] > 0 for row in rows)
    assert all(0 < row["far_fraction"] <= 1 and row["fusions_count"] > 0 for row in rows)
    assert rows[0]["error_relative"] == pytest.approx(rows[1]["error_relative"], rel=1e-6)
