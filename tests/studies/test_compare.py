"""The comparison with the C++ package: its table, and the memory of its processes."""

import argparse
import subprocess
import sys

import pytest

from studies.__main__ import main
from studies.compare import study, tables
from studies.harness import StudyError

NUMBERS = {
    "whole_process_seconds": 4.0,
    "first_seconds": 3.5,
    "setup_and_evaluation_seconds": 0.5,
    "evaluation_seconds": 0.2,
    "peak_bytes": 2e8,
    "error_relative": 1e-4,
}


def row(program, **changed):
    case = {"operation": "B", "digits": "3", "threads": "1", "program": program}
    return case | NUMBERS | changed


def test_a_row_has_medians_over_processes_and_the_largest_error_of_both_programs():
    found = [row("vcjax"), row("C++"), row("vcjax", first_seconds=5.5, error_relative=2e-4)]
    (line,) = tables.table_of(found).splitlines()[2:]
    assert [cell.strip() for cell in line.split("|")[1:-1]] == [
        *("B", "3", "1", "4.00 s", "", "4.00 s", "4.00 s", "0.500 s", "0.500 s", "0.200 s"),
        *("0.200 s", "200 MB", "200 MB", "2.0e-04", "1.0e-04"),
    ]


def test_a_gradient_in_X_has_no_error_and_no_numbers_of_the_reference():
    (line,) = tables.table_of([row("vcjax", error_relative="")]).splitlines()[2:]
    assert line.endswith("| 0.200 s |  | 200 MB |  |  |  |")


def test_each_processor_has_a_table():
    rows = [row("vcjax", processor=name, digits=d) for name, d in (("A", 3), ("B", 6), ("A", 9))]
    lines = {name: text.count("\n") for name, text in tables.by_processor(rows).items()}
    assert lines == {"A": 4, "B": 3}


def test_programs_are_compared_at_the_fewest_digits_whose_error_is_not_larger():
    rows = [
        row("C++", digits="9", error_relative=1e-7, evaluation_seconds=6.0),
        row("C++", digits="3", error_relative=1e-12, evaluation_seconds=6.0),
        row("vcjax", digits="9", error_relative=1e-9, evaluation_seconds=2.0),
        row("vcjax", digits="10", error_relative=1e-11, evaluation_seconds=3.0),
        row("vcjax", digits="8", error_relative=9e-8, evaluation_seconds=1.0),
        row("vcjax", digits="7", error_relative=2e-7, evaluation_seconds=0.1),
        row("vcjax", digits="6", threads="2", error_relative=1e-8, evaluation_seconds=0.1),
    ]
    (line,) = tables.equal_errors(rows).splitlines()[2:]
    cells = ["B", "9", "1", "1.0e-07", "8", "9.0e-08", "1.0", "6.0"]
    assert [cell.strip() for cell in line.split("|")[1:-1]] == cells


def test_factors_have_the_least_and_the_largest_of_all_digits():
    rows = [
        row(program, digits=d, operation=name, processor="P", evaluation_seconds=seconds)
        for name in ("B", "grad B", "off surface")
        for program, d, seconds in (("C++", "3", 6.0), ("vcjax", "3", 2.0), ("C++", "6", 8.0))
    ]
    rows += [{**one, "program": "vcjax", "evaluation_seconds": 1.0} for one in rows[2::3]]
    rows.append(row("vcjax", operation="gradient in X", processor="P"))
    (line,) = tables.factors(rows).splitlines()[2:]
    assert line == "| P | 1 | 3.0 to 8.0 | 3.0 to 8.0 | 3.0 to 8.0 |"


@pytest.mark.parametrize("threads", [0, 10**6])
def test_no_threads_and_more_threads_than_processors_are_refused(threads):
    with pytest.raises(StudyError, match=f"--threads {threads}; give a number from 1"):
        study.run(argparse.Namespace(threads=[threads], rounds=1, repeat=1))


def test_no_rounds_and_no_repetitions_are_refused(capsys):
    for name in ("--rounds", "--repeat"):
        assert main(["compare", name, "0"]) == 2
        assert f"{name} 0" in capsys.readouterr().err


def test_rows_of_other_code_are_measured_again_and_not_shown(tmp_path, monkeypatch, capsys):
    seconds = iter((4.0, 9.0))

    def compared(*case):
        return [row("vcjax", whole_process_seconds=next(seconds), processor="P")]

    monkeypatch.setattr(study, "_compared", compared)
    options = argparse.Namespace(out=tmp_path / "rows.csv", rounds=1, repeat=1)
    options.threads, options.digits, options.operations = [1], [3], ["B"]
    for code, shown in (("old", "4.00 s"), ("old", "4.00 s"), ("new", "9.00 s")):
        monkeypatch.setattr(study, "code_version", lambda code=code: code)
        study.run(options)
        assert f"| B | 3 | 1 | {shown} |" in capsys.readouterr().out
    assert next(seconds, None) is None


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_peak_of_a_process_leaves_out_the_process_that_started_it():
    large = bytearray(300 * 2**20)
    code = "from studies.compare import process; print(process.status_bytes('VmHWM'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 2**20 < int(done.stdout) < len(large)
