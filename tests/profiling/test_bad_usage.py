"""A script refuses a bad target or option with a message and an exit code."""

from pathlib import Path

import pytest

TARGET = "profiled:scoped"
FILE = str(Path(__file__))


@pytest.mark.parametrize(
    ("name", "arguments", "code", "message"),
    [
        ("trace", ["nowhere/at_all"], 2, "not an existing file or folder"),
        ("trace", [TARGET, "--repeat", "0"], 2, "--repeat: got '0'; give a whole number"),
        ("trace", ["profiled:failing"], 3, "AttributeError"),
        ("trace", ["profiled:absent"], 2, "has no absent"),
        ("trace", ["absent:function"], 2, "no module 'absent'"),
        ("trace", [TARGET, "--nonsense"], 2, "--nonsense"),
        ("trace", [TARGET, "--top", "-1"], 2, "--top: got '-1'; give a whole number, 0"),
        ("trace", [TARGET, "--out", f"{FILE}/tables"], 2, "is a file; give a folder"),
        ("trace", [".", "-p", "size=3"], 2, "got --param, which only a function as target uses"),
        ("trace", [FILE], 2, "truncated or not a trace"),
        ("xla_dump", ["nowhere/at_all"], 2, "not an existing file or folder"),
        ("xla_dump", ["."], 2, "contains no file module_*after_optimizations.txt"),
        ("xla_dump", ["profiled:failing"], 3, "AttributeError"),
        ("xla_dump", [TARGET, "--than", "nowhere"], 2, "give one existing folder"),
        ("nsys", ["nowhere/at.all"], 2, "nsys: "),
        ("nsys", [FILE], 2, "nsys: "),
        ("nsys", [TARGET, "--repeat", "0"], 2, "--repeat: got '0'; give a whole number"),
        ("nsys", [TARGET, "--repeat=-1"], 2, "--repeat: got '-1'; give a whole number"),
        ("memory", [TARGET, "--vary", "chunk"], 2, "give NAME=VALUE"),
        ("memory", [TARGET, "--rounds", "0"], 2, "--rounds: got '0'; give a whole number"),
        ("memory", [TARGET, "--vary", "chunk=2,2"], 2, "and each value once"),
        ("memory", [TARGET, "--arg", "f64[3]"], 2, "name a function that makes a Case"),
    ],
)
def test_bad_usage_has_a_message_and_an_exit_code(
    name, arguments, code, message, request, tmp_path, capsys
):
    assert request.getfixturevalue(name).main(["--out", str(tmp_path), *arguments]) == code
    printed = capsys.readouterr().err
    assert message in printed and f"{name}: {name}: " not in printed
    assert name != "trace" or not list(tmp_path.iterdir())


def test_an_interrupt_is_reported_in_one_line(trace, monkeypatch, capsys):
    def interrupted(argv):
        raise KeyboardInterrupt

    monkeypatch.setattr(trace, "parse", interrupted)
    assert trace.main([]) == 130
    assert capsys.readouterr().err == "trace: interrupted\n"
