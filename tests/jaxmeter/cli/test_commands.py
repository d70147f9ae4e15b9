"""Commands print results, write results to files, and return exit codes."""

import dataclasses
import json
import os
import re
import subprocess
import sys

import pytest

import jaxmeter
from jaxmeter import Audit, Comparison, Criteria, Effort, Failure, Record, Retraces
from jaxmeter.__main__ import main
from jaxmeter._capture import calibration
from jaxmeter._cli.command import COMMANDS, print_failure

CALLS = """

def jaxmeter_calls(name):
    yield (jnp.ones(2),)
    yield (jnp.ones(2), 2)
"""
SORTED_TWICE = """

def sorted_twice(x):
    return jnp.sort(x) + jnp.sort(-x)
"""
MEASURED = """
import jaxmeter

def case(n, text="x"):
    import numpy as np
    return jaxmeter.Case(lambda x: x + len(text), (np.ones(n, "float32"),))
"""
MOVING = """
import os
os.chdir("elsewhere")
def double(x): return 2 * x
def jaxmeter_arguments(name): return (1.0,)
"""


def audit_of(name):
    return ["audit", f"{name}:alone", "--no-args", "--threshold", "0"]


def test_measuring_prints_and_writes_the_record(write_module, tmp_path, capsys):
    target = f"{write_module(MEASURED)}:case"
    options = ["--repeat", "2", "--json", "record.json", "--markdown", "record.md"]
    assert main([target, *options, "-p", "n=7", "--param", "text=some words"]) == 0
    record = Record.from_json((tmp_path / "record.json").read_text())
    assert record.params == {"n": 7, "text": "some words"}
    assert record.memory.argument_bytes == 28
    assert len(record.samples_seconds) == 2
    assert capsys.readouterr().out == jaxmeter.table(record) + "\n"
    markdown = (tmp_path / "record.md").read_text()
    assert markdown.startswith(f"### {target}\n") and "| status | ok |" in markdown


def test_retraces_takes_calls_from_the_command_line(module, printed_by):
    target = ["retraces", f"{module()}:power", "--static", "n"]
    calls = ["-c", "f64[3] n=2", "-c", "f64[3] n=2", "-c", "f64[3] n=3", "-c", "f64[4] n=3"]
    printed = printed_by(*target, *calls, code=1).out
    assert "power: 4 calls, 3 traces, 3 compiles" in printed
    assert "static value of n: 2 -> 3" in printed and "shape of x: (3,) -> (4,)" in printed
    json_text = printed_by(*target, *calls, "--traces", "3", "--json", "-").out
    assert Retraces.from_json(json_text).traces_count == 3
    assert main([*target, *calls[:4]]) == 0


def test_retraces_takes_a_jitted_function_and_calls_from_its_module(module, printed_by):
    printed = printed_by("retraces", f"{module(CALLS)}:jitted", "--json", "-", code=1)
    (again,) = Retraces.from_json(printed.out).retraces
    assert str(again.causes[0]) == "form of n: left out -> by position"


def test_diff_compares_two_functions_or_an_inventory_and_a_function(module, tmp_path, printed_by):
    name = module()
    argument = ["-a", "f64[10]"]
    same = printed_by("diff", f"{name}:power", f"{name}:same_power", *argument)
    assert "power -> same_power: the same optimised program" in same.out
    saved = ["--save", "now.json", "--markdown", "d.md", "--json", "d.json"]
    other = printed_by("diff", f"{name}:power", f"{name}:other", *argument, *saved, code=1)
    assert re.search(r"HLO: cosine +0 +1 +appeared", other.out)
    found = jaxmeter.ProgramDiff.from_json((tmp_path / "d.json").read_text())
    assert found.same is False and (found.before, found.now) == ("power", "other")
    assert (tmp_path / "d.md").read_text().startswith("### power -> other")
    assert jaxmeter.Inventory.from_json((tmp_path / "now.json").read_text()).name == "other"
    assert main(["diff", "now.json", f"{name}:other_case"]) == 0
    assert main(["diff", "now.json", "now.json"]) == 0
    refused = printed_by("diff", "now.json", "now.json", "--no-args", code=2)
    assert "both programs are files; leave --no-args out" in refused.err


def test_memory_has_a_limit_and_does_not_run_a_function_on_shapes(module, printed_by):
    target = ["memory", f"{module(SORTED_TWICE)}:sorted_twice", "-a", "f64[1000]"]
    use = jaxmeter.MemoryUse.from_json(printed_by(*target, "--json", "-").out)
    assert use.memory.argument_bytes == 8000 and not use.ran
    assert use.memory.temp_bytes  # one sorted array can be in the output, but not both
    assert "largest buffers" in printed_by(*target, "--limit", str(use.memory.temp_bytes)).out
    assert main([*target, "--limit", str(use.memory.temp_bytes - 1)]) == 1


def test_memory_runs_a_case_for_its_peaks(module, printed_by):
    case = ["memory", f"{module()}:other_case", "-p", "size=100"]
    use = jaxmeter.MemoryUse.from_json(printed_by(*case, "--json", "-").out)
    assert use.ran and use.memory.argument_bytes == 800


def test_memory_refuses_a_limit_for_sizes_that_the_compiler_does_not_report(
    module, monkeypatch, printed_by
):
    use = jaxmeter.memory(lambda x: x, 1.0)
    unknown = dataclasses.replace(use, memory=jaxmeter.Memory())
    monkeypatch.setattr(jaxmeter, "memory", lambda case: unknown)
    target = ["memory", f"{module()}:power", "-a", "f64[3]"]
    assert main(target) == 0
    refused = printed_by(*target, "--limit", "10", code=2)
    assert "does not report the size of temporaries" in refused.err


def test_calibrate_prints_the_cost_of_a_megabyte(printed_by, monkeypatch):
    monkeypatch.setattr(calibration, "_MEGABYTES", 1)
    monkeypatch.setattr(calibration, "_ROUNDS", 2)
    assert "for each megabyte that is embedded (JAX " in printed_by("calibrate").out
    assert jaxmeter.Calibration.from_json(printed_by("calibrate", "--json", "-").out).jax


def test_json_and_markdown_go_to_files_or_replace_the_text(module, tmp_path, printed_by):
    target = ["audit", f"{module()}:model.apply", "-a", "f64[10]"]
    printed = printed_by(*target, "--json", "a.json", "--markdown", "a.md")
    assert printed.out.startswith("apply: captures")
    found = Audit.from_json((tmp_path / "a.json").read_text())
    assert [array.path for array in found.arrays] == ["weights"]
    assert (tmp_path / "a.md").read_text().startswith("### apply: captures 1600 B in 1 array")
    assert Audit.from_json(printed_by(*target, "--json", "-").out) == found
    assert printed_by(*target, "--markdown", "-").out == (tmp_path / "a.md").read_text()


def test_compile_writes_the_profile_a_flame_graph_and_speedscopes_json(
    module, tmp_path, printed_by
):
    target = ["compile", f"{module()}:step", "-a", "f64[10]"]
    files = ["--json", "p.json", "--flame", "p.html", "--speedscope", "s.json"]
    printed = printed_by(*target, *files)
    found = jaxmeter.CompileProfile.from_json((tmp_path / "p.json").read_text())
    assert printed.out == jaxmeter.table(found) + "\n"
    assert "<svg" in (tmp_path / "p.html").read_text()
    assert json.loads((tmp_path / "s.json").read_text())["profiles"]
    assert main([*target, "--limit", "0", "--all"]) == 1


def test_json_has_derived_values_which_reading_ignores(module, printed_by):
    name = module()
    data = json.loads(printed_by(*audit_of(name), "--json", "-", code=1).out)
    assert data["verdict"] == "large" and data["suggestions"][0].startswith(
        "give alone an argument"
    )
    assert Audit.from_json(json.dumps(data | {"verdict": "fine"})).verdict == "large"
    calls = ["-c", "f64[3]", "-c", "f64[4]", "--json", "-"]
    data = json.loads(printed_by("retraces", f"{name}:prints", *calls, code=1).out)
    assert (data["traces_count"], data["compiles_count"], data["cache_hits_count"]) == (2, 2, 0)
    assert data["suggestions"] == [
        "pad x to one shape, or to a few shapes, and mask the added elements"
    ]
    found = Comparison("a", "b", (), (), Criteria(), Effort())
    assert json.loads(found.to_json())["verdict"] == found.verdict
    assert Comparison.from_json(found.to_json()) == found


def test_output_of_the_function_goes_to_standard_error(module, printed_by):
    printed = printed_by("audit", f"{module()}:prints", "-a", "f64[3]", "--json", "-")
    assert json.loads(printed.out)["name"] == "prints"
    assert "hello" in printed.err


@pytest.mark.parametrize(
    ("command", "options", "file"),
    [("audit", ["--json", "a.json"], "a.json"), ("lock", [], "jaxmeter.lock.toml")],
)
def test_a_module_that_changes_the_folder_does_not_change_where_files_are_written(
    command, options, file, write_module, tmp_path
):
    (tmp_path / "elsewhere").mkdir()
    name = write_module(MOVING)
    assert main([command, f"{name}:double", *options]) == 0
    assert (tmp_path / file).is_file()


def test_closing_the_pipe_of_the_output_is_not_an_error(module, tmp_path, monkeypatch, capsys):
    reading, writing = os.pipe()
    os.close(reading)
    name = module()
    with os.fdopen(writing, "w") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        assert main([*audit_of(name), "--json", "a.json"]) == 1
        assert main([*audit_of(name), "--json", "-"]) == 1
        print("later output goes nowhere", flush=True)
    assert capsys.readouterr().err == ""
    assert json.loads((tmp_path / "a.json").read_text())["verdict"] == "large"


def test_help_to_a_closed_pipe_exits_with_code_0():
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "jaxmeter", "--help"]
    with os.fdopen(writing) as stdout:
        done = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_the_help_of_each_command_lists_exit_codes_and_the_main_help_lists_commands(
    command, capsys
):
    with pytest.raises(SystemExit) as left:
        main([command, "--help"] if command else ["--help"])
    assert left.value.code == 0
    printed = capsys.readouterr().out
    assert "exit codes: 0 " in printed
    assert command or all(f"  {name} " in printed for name in COMMANDS)
    assert command != "audit" or "reading it can run code" in " ".join(printed.split())


def test_only_commands_with_long_tables_have_an_option_for_all_rows(capsys):
    for command in ([], ["audit"], ["memory"], ["lock"]):
        with pytest.raises(SystemExit):
            main([*command, "--help"])
        assert "--all" in capsys.readouterr().out
    for command in (["calibrate"], ["compare", "a:f", "b:f"]):
        with pytest.raises(SystemExit) as left:
            main([*command, "--all"])
        assert left.value.code == 2
        assert "unrecognized arguments: --all" in capsys.readouterr().err


def test_the_version_is_printed(capsys):
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out == f"jaxmeter {jaxmeter.__version__}\n"


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("audit {}:fails -a f64[3]", "audit: ValueError in tracing fails: of this shape"),
        ("retraces {}:fails -c f64[3]", "retraces: ValueError in calling fails: of this shape"),
        ("diff {}:fails {}:step -a f64[3]", "diff: ValueError in compiling fails: of this shape"),
        (
            "memory {}:fails -a f64[3]",
            "memory: ValueError in compiling or running fails: of this shape",
        ),
        (
            "memory absent_module:step -a f64[3]",
            "memory: ModuleNotFoundError in preparing absent_module:step: No module named "
            "'absent_module'",
        ),
    ],
)
def test_an_exception_is_shown_with_its_traceback_and_named_in_the_last_line(
    module, command, line, capsys
):
    assert main(command.replace("{}", module()).split()) == 3
    printed = capsys.readouterr().err
    assert "Traceback" in printed
    assert printed.splitlines()[-1] == line


def test_a_target_that_fails_in_its_process_is_shown_with_its_traceback(
    write_module, tmp_path, capsys
):
    name = write_module('raise ValueError("on purpose")\n')
    assert main([f"{name}:case", "--json", "-"]) == 3
    printed = capsys.readouterr()
    failure = Record.from_json(printed.out).failure
    assert failure is not None and (failure.kind, failure.phase) == ("ValueError", "import")
    assert "Traceback" in printed.err
    last = printed.err.splitlines()[-1]
    assert last == f"jaxmeter: ValueError in import of {name}:case: on purpose"
    assert not (tmp_path / "-").exists()


@pytest.mark.parametrize("command", ["audit", "memory"])
def test_a_function_that_needs_the_value_of_an_argument_gets_the_option_named(
    module, command, capsys
):
    assert main([command, f"{module()}:repeated", "-a", "f64[]", "-a", "n=3"]) == 3
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith(f"{command}: TypeError in ") and " repeated: " in line
    assert "; if Python needs the value of an argument, make the argument static: give " in line
    assert "give --static NAME on the command line" in line


def test_bad_usage_that_a_worker_finds_exits_with_code_2(monkeypatch, capsys):
    failure = Failure("import", "JaxmeterError", "compare: got x; give y", "Traceback ...")
    failed = Record("mod:b", "failed", failure=failure)
    process = jaxmeter.ComparedProcess(Record("mod:a", "ok"), failed)
    found = Comparison("a", "b", (), (), Criteria(), Effort(), (process,))
    monkeypatch.setattr("jaxmeter._cli.compare.compare", lambda *a, **k: found)
    assert main(["compare", "mod:a", "mod:b"]) == 2
    assert capsys.readouterr().err == "compare: got x; give y\n"


@pytest.mark.parametrize("traceback", ["Traceback ...\n", ""])
@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("one\ntwo: three", "one"),
        # XLA quotes the error of a callback; equinox quotes its own error.
        ("INTERNAL: callback: Traceback:\n  File ...\nValueError: mine\n", "ValueError: mine"),
        (
            "Above is the stack.\nequinox.EquinoxRuntimeError: mine\n\n1) Set",
            "equinox.EquinoxRuntimeError: mine",
        ),
    ],
)
def test_the_last_line_names_the_exception_of_a_worker(message, line, traceback, capsys):
    print_failure("compare", Record("mod:good", "ok"))  # prints nothing
    failure = Failure("trace", "ValueError", message, traceback)
    print_failure("compare", Record("mod:step", "failed", failure=failure))
    printed = f"{traceback}compare: ValueError in trace of mod:step: {line}\n"
    assert capsys.readouterr().err == printed


def test_a_module_that_calls_sys_exit_is_an_error(write_module, capsys):
    name = write_module("import sys\nsys.exit(0)\n")
    assert main(["audit", f"{name}:step", "--no-args"]) == 3
    assert "sys.exit(0)" in capsys.readouterr().err


def test_an_interrupt_is_reported_in_one_line(write_module, capsys):
    name = write_module("raise KeyboardInterrupt\n")
    assert main(["audit", f"{name}:step", "--no-args"]) == 130
    assert capsys.readouterr().err == "audit: interrupted\n"
