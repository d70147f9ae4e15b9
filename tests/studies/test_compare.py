"""The comparison with the C++ package: its table."""

import argparse

import pytest

from studies.compare import study, tables
from studies.harness import StudyError

NUMBERS = {
    "whole_process_seconds": 4.0,
    "first_seconds": 3.5,
    "setup_seconds": 0.3,
    "evaluation_seconds": 0.2,
    "peak_bytes": 2e8,
    "error_relative": 1e-4,
}


def row(program, **changed):
    return {
        "operation": "B",
        "digits": "3",
        "threads": "1",
        "program": program,
        **NUMBERS,
        **changed,
    }


def test_rows_are_medians_over_processes_and_the_largest_error():
    found = [row("vcjax"), row("C++"), row("vcjax", first_seconds=5.5, error_relative=2e-4)]
    vcjax, reference = tables.table_of(found).splitlines()[2:]
    assert vcjax == (
        "| B | 3 | 1 | vcjax | 4.00 s | 4.00 s | 0.300 s | 0.200 s | 200 MB | 2.0e-04 |"
    )
    # C++ compiles nothing.
    assert reference.startswith("| B | 3 | 1 | C++ | 4.00 s |  | 0.300 s |")


def test_a_gradient_in_X_has_no_error_to_show():
    (found,) = tables.table_of([row("vcjax", error_relative="")]).splitlines()[2:]
    assert found.endswith("| 200 MB |  |")


@pytest.mark.parametrize("threads", [0, 10**6])
def test_more_threads_than_processors_and_none_are_refused(threads, tmp_path):
    with pytest.raises(StudyError, match=f"--threads {threads}; give a number of CPUs from 1"):
        study.run(argparse.Namespace(threads=[threads], out=tmp_path / "rows.csv"))


def test_rows_without_threads_are_refused(tmp_path):
    (tmp_path / "rows.csv").write_text("round,operation,digits\n0,B,3\n")
    with pytest.raises(StudyError, match="rows of an older version"):
        study.run(argparse.Namespace(threads=[1], out=tmp_path / "rows.csv"))
