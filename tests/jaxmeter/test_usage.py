"""Commands say in one line what was given wrong, and in the last what a function raised."""

import json
import os
import subprocess
import sys

import pytest

import jaxmeter
from jaxmeter import ComparedProcess, Comparison, Criteria, Effort, Failure, JaxmeterError, Record
from jaxmeter.__main__ import main
from jaxmeter._cli.command import COMMANDS, print_failure

MODULE = """
import jax
import jax.numpy as jnp
from jaxmeter import Case

table = jnp.arange(50.0)
calls = []


def step(x, n=2, *, scale=1.0):
    return scale * jnp.ones(n) * x


def talks(x):
    print("hello")
    return 2.0 * x


def alone():
    calls.append(1)
    return table.sum()


def case(size=10, factor=2.0):
    return Case(lambda x: factor * x, (jnp.ones(size),))


def fails(x):
    raise ValueError("of this shape\\nnothing comes")


jitted = jax.jit(step, static_argnames="n")
"""
HOOK = """

def jaxmeter_arguments(name, size=3):
    return (jnp.ones(size),)
"""


@pytest.fixture
def module(write_module):
    return write_module(MODULE)


def last_line(capsys):
    return capsys.readouterr().err.splitlines()[-1]


def test_a_reader_that_leaves_is_no_error(module, tmp_path, monkeypatch, capsys):
    reading, writing = os.pipe()
    os.close(reading)
    arguments = ["audit", f"{module}:alone", "--no-args", "--threshold", "0"]
    with os.fdopen(writing, "w") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        assert main([*arguments, "--json", "a.json"]) == 1
        assert main([*arguments, "--json", "-"]) == 1
        print("what comes later goes nowhere", flush=True)
    assert capsys.readouterr().err == ""
    assert json.loads((tmp_path / "a.json").read_text())["verdict"] == "large"


def test_what_a_function_prints_is_no_part_of_the_answer(module, capsys):
    assert main(["audit", f"{module}:talks", "-a", "f64[3]", "--json", "-"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["name"] == "talks"
    assert "hello" in printed.err


def test_json_tells_the_verdict_and_reading_it_ignores_what_it_says(module, capsys):
    target = ["audit", f"{module}:alone", "--no-args", "--threshold", "0", "--json", "-"]
    assert main(target) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["verdict"] == "large" and told["advice"][0].startswith("give alone an argument")
    assert jaxmeter.Audit.from_json(json.dumps(told | {"verdict": "fine"})).verdict == "large"
    calls = ["retraces", f"{module}:talks", "-c", "f64[3]", "-c", "f64[4]", "--json", "-"]
    assert main(calls) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["traces_count"], told["compiles_count"], told["cache_hits_count"]) == (2, 2, 0)
    assert told["advice"] == ["pad x to one shape, or to few, and mask what was added"]
    found = Comparison("a", "b", (), (), Criteria(), Effort())
    assert json.loads(found.to_json())["verdict"] == found.verdict
    assert Comparison.from_json(found.to_json()) == found


def test_a_function_without_arguments_is_taken_as_it_is_and_not_called(module, capsys):
    assert main(["audit", f"{module}:alone", "--no-args", "--json", "-"]) == 0
    (array,) = jaxmeter.Audit.from_json(capsys.readouterr().out).arrays
    assert array.path == "table"
    assert len(sys.modules[module].calls) == 1  # traced


@pytest.mark.parametrize(
    "arguments",
    [
        ["audit", "{}:step", "-a", "f64[]", "-a", "n=3", "--static", "n"],
        ["memory", "{}:step", "-a", "f64[]", "-a", "3", "--static", "n"],
        ["diff", "{0}:step", "{0}:step", "-a", "f64[]", "-a", "n=3", "--static", "n"],
        ["memory", "{}:jitted", "-a", "f64[]", "-a", "n=3"],
    ],
)
def test_static_arguments_are_named(module, arguments):
    assert main([text.format(module) for text in arguments]) == 0


@pytest.mark.parametrize("command", ["audit", "memory"])
def test_where_python_needs_the_value_of_an_argument_the_last_line_tells_the_option(
    module, command, capsys
):
    assert main([command, f"{module}:step", "-a", "f64[]", "-a", "n=3"]) == 3
    line = last_line(capsys)
    assert line.startswith(f"{command}: TypeError in ") and " step: " in line
    assert line.endswith("; if Python needs the value of an argument, name it by --static NAME")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ["audit", "{}:fails", "-a", "f64[3]"],
            "audit: ValueError in tracing fails: of this shape",
        ),
        (
            ["retraces", "{}:fails", "-c", "f64[3]"],
            "retraces: ValueError in calling fails: of this shape",
        ),
        (
            ["diff", "{0}:fails", "{0}:step", "-a", "f64[3]"],
            "diff: ValueError in compiling fails: of this shape",
        ),
        (
            ["memory", "absent_module:step", "-a", "f64[3]"],
            "memory: ModuleNotFoundError in preparing absent_module:step: No module named "
            "'absent_module'",
        ),
    ],
)
def test_the_last_line_tells_what_was_raised_and_in_what(module, arguments, line, capsys):
    assert main([text.format(module) for text in arguments]) == 3
    printed = capsys.readouterr().err
    assert "Traceback" in printed
    assert printed.splitlines()[-1] == line


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["audit", "{}:case", "-p", "sze=4"], "got --param sze for {}:case, which takes size, fac"),
        (
            ["audit", "{}:alone", "-p", "n=4"],
            "got --param n for {}:alone, which takes no arguments",
        ),
        (["audit", "{}:alone"], "which was called as it may make its case; give --arg f64[64,3]"),
        (["audit", "{}:step", "-p", "n=3", "-a", "f64[3]"], "got --param n=3 and --arg; --param"),
        (["memory", "{}:case", "-p", "size=3", "--no-args"], "and --no-args; --param is"),
        (
            ["diff", "{0}:step", "{0}:step", "-a", "f64[]", "--static", "m"],
            "got 'm'; step takes x,",
        ),
        (["memory", "{}:jitted", "-a", "f64[]", "--static", "n"], "already jitted; give them to"),
        (["retraces", "{}:step", "-c", "f64[]", "--static", "m"], "--static: got 'm'; step takes"),
        (["retraces", "{}:step", "-c", "some"], "--call: got 'some'; give a type and shape"),
        (["retraces", "{}:step", "-c", "some"], "for anything else use jaxmeter_calls(name)"),
        (["retraces", "{}:step", "-c", "f64[3] 'n"], "No closing quotation"),
        (
            ["retraces", "{}:step", "-c", "n=1 f64[3]"],
            "--call: got 'f64[3]' after a named argument",
        ),
    ],
)
def test_what_is_given_wrong_is_told_in_one_line(module, arguments, message, capsys):
    assert main([text.format(module) for text in arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message.format(module) in line


def test_a_parameter_that_the_hook_does_not_take_is_told_as_its(write_module, capsys):
    name = write_module(MODULE, HOOK)
    assert main(["audit", f"{name}:talks", "-p", "size=4"]) == 0
    assert main(["audit", f"{name}:talks", "-p", "sze=4"]) == 2
    assert f"for {name}:jaxmeter_arguments, which takes name, size" in capsys.readouterr().err


def test_the_help_lists_every_command_and_there_is_a_version(capsys):
    for option in ("--help", "--version"):
        with pytest.raises(SystemExit) as left:
            main([option])
        assert left.value.code == 0
    printed = capsys.readouterr().out
    assert all(f"  {name} " in printed for name in COMMANDS)
    assert "exit codes: 0 " in printed
    assert printed.splitlines()[-1] == f"jaxmeter {jaxmeter.__version__}"


@pytest.mark.parametrize("given", [["adit", "mod:step"], ["adit"], ["mod"]])
def test_what_is_no_command_and_no_target_is_told_with_the_commands(given, capsys):
    assert main(given) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert all(name in line for name in COMMANDS) and repr(given[0]) in line


def test_what_another_process_refuses_is_bad_usage_here():
    refused = Failure("import", "JaxmeterError", "compare: got x; give y", "Traceback ...")
    with pytest.raises(JaxmeterError, match="got x; give y"):
        print_failure("compare", Record("mod:step", "failed", failure=refused))


def test_what_a_function_raises_in_another_process_is_told_in_the_last_line(capsys):
    for failure, lines in (
        (Failure("trace", "ValueError", "one\ntwo", "Traceback ...\n"), ["Traceback ..."]),
        (Failure("trace", "ValueError", "one\ntwo"), []),
    ):
        print_failure("compare", Record("mod:step", "failed", failure=failure))
        told = capsys.readouterr().err.splitlines()
        assert told == [*lines, "compare: ValueError in trace of mod:step: one"]
    print_failure("compare", Record("mod:step", "ok"))
    assert capsys.readouterr().err == ""


def test_the_command_ends_well_where_its_reader_left():
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "jaxmeter", "--help"]
    with os.fdopen(writing) as stdout:
        done = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")


def test_compare_tells_bad_usage_that_its_processes_found_as_its_own(monkeypatch, capsys):
    failure = Failure("import", "JaxmeterError", "compare: got x; give y")
    records = Record("mod:a", "ok"), Record("mod:b", "failed", failure=failure)
    process = ComparedProcess(*records)
    found = Comparison("a", "b", (), (), Criteria(), Effort(), (process,))
    monkeypatch.setattr("jaxmeter._cli.compare.compare", lambda *a, **k: found)
    assert main(["compare", "mod:a", "mod:b"]) == 2
    assert capsys.readouterr().err == "compare: got x; give y\n"
