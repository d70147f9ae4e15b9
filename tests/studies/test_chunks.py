"""The tile size study: the recommended size, the time of "auto", and the variables to set."""

import re
import subprocess

import jax
import numpy as np
import pytest

from jaxmeter import host_environment
from studies.__main__ import main
from studies.chunks import cases, study, tables
from studies.harness import ROOT, StudyError, append_row
from vcjax._options import _AUTO

SIZES = {(256, 80): (1.02, 10), (1024, 80): (1.0, 50), (4096, 320): (2.0, 5)}


def process(factor=1.0, times=SIZES, operator="B"):
    found = [
        {
            "chunk_size": sources,
            "target_chunk_size": targets,
            "seconds": [factor * seconds * (1 + 0.1 * n) for n in range(3)],
            "temp_bytes": temp_bytes,
            "flops": 8.0,
            "accessed_bytes": 2.0,
            "far_fraction": 0.9,
        }
        for (sources, targets), (seconds, temp_bytes) in times.items()
    ]
    return {"operator": operator, "auto": [4096, 320], "found": found}


def test_the_size_with_the_least_memory_among_equally_fast_sizes_is_recommended():
    sizes, advice = tables.study_tables([process(), process(3.0)])
    rows = {row["chunk_size"]: row for row in sizes.to_dict("records")}
    assert [size for size in rows if rows[size]["is_recommended"]] == [256]
    assert [size for size in rows if rows[size]["is_auto"]] == [4096]
    assert rows[256]["ratio_to_auto"] == pytest.approx(0.51)  # paired: the second process was slow
    assert rows[256]["ratio_to_best"] == pytest.approx(1.02)
    assert rows[256]["flops_per_byte"] == 4.0 and rows[256]["processes_count"] == 2
    ratios = advice[["auto_ratio_to_best", "held_out_ratio_to_best"]]
    np.testing.assert_allclose(ratios, [[2.0, 1.02]])


def test_the_held_out_ratio_shows_if_a_size_was_fastest_by_chance():
    lucky = {**SIZES, (4096, 320): (0.5, 5)}
    _, advice = tables.study_tables([process(times=lucky), process()])
    np.testing.assert_allclose(advice["held_out_ratio_to_best"], [2.0])


def test_the_docs_explain_every_column():
    sections = (ROOT / "docs" / "chunks.md").read_text().split("| column | meaning |")
    for names, section in zip((tables.COLUMNS, tables.ADVICE_COLUMNS), sections[1:], strict=True):
        assert tuple(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == names


def test_a_shell_reads_the_variables(tmp_path):
    path = tmp_path / "chunks.env"
    path.write_text(tables.variables(tables.study_tables([process(operator="GRADB")])[1]))
    command = f". {path}; echo $VCJAX_CHUNK_GRADB_SRC,$VCJAX_CHUNK_GRADB_TRG"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "256,80"


def test_the_page_marks_the_recommendation_and_auto():
    found = tables.study_tables([process(), process(3.0)])
    lines = tables.page(*found, host_environment(), "w7x").splitlines()
    assert "| B | 256, 80 | 1.020 | 1.020 | 2.000 | 0.0 MB | 0.0 MB |" in lines
    assert "| 256 | **1.020** |  |" in lines
    assert "| 4096 |  | *2.000* |" in lines
    assert "export VCJAX_CHUNK_B_SRC=256" in lines


@pytest.fixture
def command(monkeypatch, tmp_path):
    """Return the command without workers, the measured processes, and the operators that fail."""
    measured, failing = [], set()

    def in_worker(function, path, arguments, **options):
        measured.append((arguments["operator"], arguments["process"]))
        if arguments["operator"] in failing:
            raise StudyError("KeyError: no such case")
        append_row(path, process(operator=arguments["operator"]) | arguments)

    monkeypatch.setattr(study, "in_worker", in_worker)

    def run(*arguments):
        return main(["chunks", *arguments, "--out", str(tmp_path)])

    return run, measured, failing


def test_processes_are_interleaved_and_measured_once_on_each_platform(
    command, tmp_path, monkeypatch
):
    run, measured, _ = command
    arguments = ("--operators", "B", "GRADB", "--rounds")
    assert run(*arguments, "1") == run(*arguments, "2") == 0
    assert measured == [("B", 0), ("GRADB", 0), ("B", 1), ("GRADB", 1)]
    monkeypatch.setenv("JAX_PLATFORMS", "another")
    assert run(*arguments, "1") == 0 and measured[4:] == [("B", 0), ("GRADB", 0)]
    assert "VCJAX_CHUNK_GRADB_SRC=256" in (tmp_path / "chunks.env").read_text()
    assert "# Tile sizes" in (tmp_path / "chunks.md").read_text()


def test_failed_processes_are_left_out_and_no_table_changes_if_all_fail(command, tmp_path, capsys):
    run, _, failing = command
    failing.add("GRADB")
    assert run("--operators", "B", "GRADB") == 1
    assert "GRADB" not in (tmp_path / "chunks.env").read_text()
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert run("--operators", "GRADB") == 2
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    error = capsys.readouterr().err
    assert "KeyError: no such case" in error and "not written" in error


@pytest.mark.parametrize("arguments", [["--rounds", "0"], ["--chunk-sizes", "0"]])
def test_numbers_below_1_are_refused(command, arguments, capsys):
    assert command[0](*arguments) == 2
    assert "must be 1 or more; got 0" in capsys.readouterr().err


def test_sizes_set_in_the_environment_are_refused(command, monkeypatch, capsys):
    monkeypatch.setenv("VCJAX_CHUNK_B", "64")
    assert command[0]() == 2
    assert "VCJAX_CHUNK_B; unset" in capsys.readouterr().err


@pytest.mark.cpu
def test_the_first_process_measures_all_sizes_with_memory_and_the_share_of_the_far_field():
    (row,) = cases.process_rows("B", 0, "case_vc", 1, 2, [[16, 8]], "code")
    assert row["case"] == "case_vc" and row["code"] == "code"
    sizes, _ = tables.study_tables([row])
    assert len(sizes) == 2 and not sizes.query("chunk_size == 16 and not is_auto").empty
    for name in ("temp_bytes", "largest_temp_bytes", "far_fraction", "fusions_count"):
        assert min(sizes[name].to_list()) > 0
    assert max(sizes["far_fraction"].to_list()) <= 1
    errors = sizes["error_relative"].to_numpy()
    assert np.ptp(errors) <= 1e-6 * errors.max()


def test_later_processes_list_no_buffers_and_auto_has_the_size_that_it_has_inside_jit():
    (row,) = cases.process_rows("B", 1, "case_vc", 1, 1, [], "code")
    assert not {"far_fraction", "largest_temp_bytes"} & set(row["found"][0])
    assert row["auto"] == list(_AUTO[jax.default_backend()]["B"])
