"""``python -m jaxmeter`` prints a table, writes the record, and tells success by its exit code."""

import dataclasses
import re

import pytest

import jaxmeter
from jaxmeter.__main__ import main
from jaxmeter._render.terminal import table
from jaxmeter._render.units import bytes_text, seconds_text

RECORD = jaxmeter.Record(
    name="mine",
    status="ok",
    phases=jaxmeter.Phases(0.001, 0.02, 3.0, None),
    samples_seconds=(0.003, 0.001, 0.002),
    constants=jaxmeter.Constants(
        captured_bytes=10**6,
        captured_count=1,
        arrays=(jaxmeter.ConstantArray((250, 500), "float64", 10**6, "jit(inner)"),),
    ),
    counts=jaxmeter.Counts(1, 1, 1, 0),
    checks={"error_relative": 1.5e-7},
)


def rows(record):
    lines = table(record).splitlines()
    return dict(
        re.split(r"\s{2,}", line.strip(), maxsplit=1) for line in lines[1:] if line[2] != " "
    )


def test_the_table_shows_what_is_known_and_nothing_else():
    shown = rows(RECORD)
    assert shown["compile"] == "3 s"
    assert shown["steady-state run"] == "2 ms median of 3, 1 ms to 3 ms"
    assert shown["captured"] == "1 MB in 1 array"
    assert shown["error_relative"] == "1.5e-07"
    assert "float64[250, 500] 1 MB in jit(inner)" in table(RECORD)
    assert "first call" not in shown and "flops" not in shown


def test_the_table_names_the_largest_captured_arrays_and_counts_the_rest():
    arrays = tuple(jaxmeter.ConstantArray((n,), "int8", n, "") for n in range(100))
    constants = jaxmeter.Constants(captured_bytes=4950, captured_count=100, arrays=arrays)
    text = table(dataclasses.replace(RECORD, constants=constants))
    assert "int8[99] 99 B" in text and "int8[0]" not in text
    assert "and 90 more" in text


def test_the_table_of_a_failure_tells_it_first():
    failure = jaxmeter.Failure("compile", "Timeout", "was in compile after 8 s")
    lines = table(jaxmeter.Record("mine", "timeout", failure=failure)).splitlines()
    assert lines[1].split() == ["status", "timeout"]
    assert lines[2].split() == ["failure", "Timeout", "in", "compile"]
    assert lines[3].strip() == "was in compile after 8 s"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, ""),
        (0.0, "0 ns"),
        (1e-9, "1 ns"),
        (2.5e-5, "25 us"),
        (0.0123, "12.3 ms"),
        (75, "75 s"),
        (1234, "1230 s"),
        (0.0009999, "1 ms"),
    ],
)
def test_seconds_have_the_unit_that_suits_them(seconds, text):
    assert seconds_text(seconds) == text


def test_seconds_have_as_many_digits_as_are_known():
    assert [seconds_text(s, 2) for s in (0.01634, 0.163, 1.63)] == ["16 ms", "160 ms", "1.6 s"]


@pytest.mark.parametrize(
    ("size", "text"),
    [(None, ""), (9999, "9999 B"), (10**4, "10 kB"), (10**6, "1 MB"), (2.5e9, "2.5 GB")],
)
def test_bytes_have_the_unit_that_suits_them(size, text):
    assert bytes_text(size) == text


TARGET = """
import jaxmeter

def case(n, text="x"):
    import numpy as np
    return jaxmeter.Case(lambda x: x + len(text), (np.ones(n, "float32"),))
"""


@pytest.fixture
def target_folder(tmp_path, monkeypatch):
    (tmp_path / "my_target.py").write_text(TARGET)
    (tmp_path / "my_broken.py").write_text('raise ValueError("on purpose")\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_good_target_is_measured_printed_and_written(target_folder, capsys):
    arguments = ["my_target:case", "--repeat", "2", "--json", "record.json"]
    arguments += ["--markdown", "record.md"]
    assert main([*arguments, "-p", "n=7", "--param", "text=some words"]) == 0
    record = jaxmeter.Record.from_json((target_folder / "record.json").read_text())
    assert record.params == {"n": 7, "text": "some words"}
    assert record.memory.argument_bytes == 28
    assert len(record.samples_seconds) == 2
    assert capsys.readouterr().out == table(record) + "\n"
    markdown = (target_folder / "record.md").read_text()
    assert markdown.startswith("### my_target:case\n") and "| status | ok |" in markdown


def test_a_failing_target_is_told_with_its_traceback(target_folder, capsys):
    assert main(["my_broken:case", "--json", "-"]) == 3
    printed = capsys.readouterr()
    failure = jaxmeter.Record.from_json(printed.out).failure
    assert failure is not None and (failure.kind, failure.phase) == ("ValueError", "import")
    assert "Traceback" in printed.err
    last = printed.err.splitlines()[-1]
    assert last == "jaxmeter: ValueError in import of my_broken:case: on purpose"
    assert not (target_folder / "-").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["my_target"], "got target='my_target'; give 'package.module:function'"),
        (["my_target:case", "--repeat", "0"], "got repeat=0"),
        (["my_target:case", "-p", "n"], "--param: got 'n'; give NAME=VALUE"),
        (["my_target:case", "-p", "n=[1]"], "got params"),
        (["my_target:absent"], "has no absent; name a function of that module"),
        (["my_target:case", "--json", "-", "--markdown", "-"], "give one a file"),
    ],
)
def test_bad_usage_is_told_in_one_line(target_folder, arguments, message, capsys):
    assert main(arguments) == 2
    printed = capsys.readouterr()
    (line,) = printed.err.splitlines()
    assert message in line and not printed.out
