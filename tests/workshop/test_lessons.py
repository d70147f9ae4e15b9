"""Lessons are readable as notebooks, name their claims, and ask for predictions.

``make docs`` runs the lessons; these tests only read them.
"""

import ast
import contextlib
import json
import sqlite3

import pytest

import jaxmeter
from tests.jaxmeter.tables.nsys_rows import write_loop
from workshop import record
from workshop.__main__ import lesson_files, source_of

LESSONS = {lesson.stem: lesson for lesson in lesson_files()}
TREES = {name: ast.parse(source_of(lesson)) for name, lesson in LESSONS.items()}
# The behaviours that the lessons have to show, by the messages of their assertions.
BEHAVIOURS = {
    "a side effect in a jitted function happens once, while the function is traced",
    "without jit the side effect happens in every call",
    "the use of a leaked tracer raises UnexpectedTracerError",
    "six calls with three shapes make three traces",
    "a Python loop cannot depend on a traced value",
    "Python may branch on the dtype",
    "eager selu compiles one program for each of its five kinds of operation",
    "jitted selu is one program",
    "the derivative of where passes through both sides",
    "jit takes the trace of make_jaxpr from a shared cache",
    "JAX reports a trace event all the same",
    "debug.callback runs in each of ten calls",
    "io_callback runs in each of ten calls",
    "twenty static values need twenty compiles",
    "values seen before need no compile",
    "the keyword and the value 20.0 each take one more compile",
    "a list as static argument is a ValueError",
    "a temporary function is traced and compiled in each of twenty rounds",
    "the next call compiles in each round again",
    "a named function is traced and compiled once",
    "jit of a partial: twenty of twenty calls compile",
    "jit of a bound method: five of five calls compile",
    "a Python loop has an equation for each round",
    "a fori_loop has the same equations for any number of rounds",
    "a jitted body is traced once for 1020 rounds",
    "a while_loop compiles once for all numbers of rounds",
    "cond takes one compile for both values",
    "where computes both sides in every call",
    "vmap turns cond into select",
    "with the system as argument nothing is embedded",
    "the table of a static callable is captured",
    "the audit names the operation",
    "folding costs compile time",
    "simplified constants pass the array as a hidden argument",
    "three runs of six rounds run the fused body 18 times",
    "three runs of six rounds are 18 launches",
    "each launch is joined with its operation",
    "commit 2 captures the corners",
    "the check fails at the commit that captures the corners",
    "one change point is found, at commit 12",
}


def claims(name):
    return [
        node.msg.value if isinstance(node.msg, ast.Constant) else None
        for node in ast.walk(TREES[name])
        if isinstance(node, ast.Assert)
    ]


@pytest.mark.parametrize("name", LESSONS)
def test_each_assertion_of_a_lesson_names_its_claim(name):
    found = claims(name)
    assert len(found) >= 5 and None not in found and len(set(found)) == len(found)


def test_the_lessons_assert_the_behaviours_that_they_have_to_show():
    assert not BEHAVIOURS - {claim for name in LESSONS for claim in claims(name)}


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_asks_for_predictions_and_ends_with_exercises_and_the_environment(name):
    text = LESSONS[name].read_text()
    assert text.count("> **Predict.**") >= 3
    assert "## What to remember" in text and "## Exercises" in text
    assert "jaxmeter.host_environment()" in text.rpartition("```{code-cell}")[2]
    assert "format_name: myst" in text.split("---")[1] and text.count("```") % 2 == 0


def test_the_recorded_measurements_name_their_machine_and_version():
    for name in ("identical", "history"):
        recorded = json.loads((record.FOLDER / f"{name}.json").read_text())
        assert {"jax", "cpu", "from"} <= set(recorded["environment"])
        assert all(s > 0 for row in recorded["seconds"] for s in row)
    for name in ("equal", "slower"):
        text = (record.FOLDER / f"comparison_{name}.json").read_text()
        comparison = jaxmeter.Comparison.from_json(text)
        assert len(comparison.processes) == 6


def test_lesson_5_has_the_capture_that_the_tests_write(tmp_path):
    with contextlib.closing(sqlite3.connect(":memory:")) as recorded:
        recorded.executescript((record.FOLDER / "loop.sql").read_text())
        with contextlib.closing(sqlite3.connect(write_loop(tmp_path / "loop.sqlite"))) as written:
            assert list(recorded.iterdump()) == list(written.iterdump())


def test_the_help_of_the_recording_command_measures_nothing(monkeypatch, capsys):
    for step in ("identical", "history", "comparisons"):
        monkeypatch.delattr(record, step)
    with pytest.raises(SystemExit) as ended:
        record.main(["--help"])
    assert ended.value.code == 0
    assert "The measurements take about five minutes" in capsys.readouterr().out
