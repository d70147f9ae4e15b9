"""``jaxmeter retraces``, ``diff``, ``memory`` and ``calibrate`` answer and tell by their codes."""

import re

import pytest

from jaxmeter import Calibration, Inventory, MemoryUse, ProgramDiff, Retraces
from jaxmeter.__main__ import main
from jaxmeter._capture import calibration

MODULE = """
import jax
import jax.numpy as jnp
from jaxmeter import Case


def step(x, n=2):
    return jnp.sort(x**n)


def same(x, n=2):
    return jnp.sort(x**n)


def other(x):
    return jnp.sort(x) + jnp.cos(x)


jitted = jax.jit(step, static_argnames="n")


def case(size=10):
    return Case(other, (jnp.ones(size),))


def broken(x):
    raise ZeroDivisionError("on purpose")
"""

HOOK = """

def jaxmeter_calls(name):
    yield (jnp.ones(3),)
    yield (jnp.ones(3), 2)
"""


@pytest.fixture
def module(write_module):
    """Writes the module, and what is added to it; gives its name."""
    return lambda *extra: write_module(MODULE, *extra)


def test_calls_on_the_command_line_are_told_with_their_causes(module, capsys):
    target = ["retraces", f"{module()}:step", "--static", "n"]
    calls = ["-c", "f64[3] n=2", "-c", "f64[3] n=2", "-c", "f64[3] n=3", "-c", "f64[4] n=3"]
    assert main([*target, *calls]) == 1
    printed = capsys.readouterr().out
    assert "step: 4 calls, 3 traces, 3 compiles" in printed
    assert "static value of n: 2 -> 3" in printed and "shape of x: (3,) -> (4,)" in printed
    assert main([*target, *calls, "--traces", "3", "--json", "-"]) == 0
    assert Retraces.from_json(capsys.readouterr().out).traces_count == 3
    assert main([*target, *calls[:4]]) == 0


def test_calls_of_the_module_and_of_a_jitted_function(module, capsys):
    name = module(HOOK)
    assert main(["retraces", f"{name}:jitted", "--json", "-"]) == 1
    (again,) = Retraces.from_json(capsys.readouterr().out).retraces
    assert str(again.causes[0]) == "form of n: left out -> by position"


def test_two_functions_are_compared(module, tmp_path, capsys):
    name = module()
    argument = ["-a", "f64[10]"]
    assert main(["diff", f"{name}:step", f"{name}:same", *argument]) == 0
    assert "step -> same: the same optimised program" in capsys.readouterr().out
    saved = ["--save", "now.json", "--markdown", "d.md", "--json", "d.json"]
    assert main(["diff", f"{name}:step", f"{name}:other", *argument, *saved]) == 1
    assert re.search(r"cosine +0 -> 1  \(appeared\)", capsys.readouterr().out)
    found = ProgramDiff.from_json((tmp_path / "d.json").read_text())
    assert found.same is False and (found.before, found.now) == ("step", "other")
    assert (tmp_path / "d.md").read_text().startswith("### step -> other")
    assert Inventory.from_json((tmp_path / "now.json").read_text()).name == "other"
    assert main(["diff", "now.json", f"{name}:case"]) == 0


def test_memory_has_a_limit(module, capsys):
    target = ["memory", f"{module()}:step", "-a", "f64[1000]"]
    assert main([*target, "--json", "-"]) == 0
    use = MemoryUse.from_json(capsys.readouterr().out)
    assert use.memory.argument_bytes == 8000 and not use.ran
    assert use.memory.temp_bytes is not None
    assert main([*target, "--limit", str(use.memory.temp_bytes)]) == 0
    printed = capsys.readouterr().out
    assert "largest buffers" in printed
    if use.memory.temp_bytes:
        assert main([*target, "--limit", str(use.memory.temp_bytes - 1)]) == 1


def test_a_case_is_run_for_its_peaks(module, capsys):
    assert main(["memory", f"{module()}:case", "-p", "size=100", "--json", "-"]) == 0
    use = MemoryUse.from_json(capsys.readouterr().out)
    assert use.ran and use.memory.argument_bytes == 800


def test_calibrating_prints_what_a_megabyte_costs(capsys, monkeypatch):
    monkeypatch.setattr(calibration, "_MEGABYTES", 1)
    monkeypatch.setattr(calibration, "_ROUNDS", 2)
    assert main(["calibrate"]) == 0
    assert "for each megabyte that is embedded (JAX " in capsys.readouterr().out
    assert main(["calibrate", "--json", "-"]) == 0
    assert Calibration.from_json(capsys.readouterr().out).jax


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["retraces", "{}"], "retraces: got target="),
        (["retraces", "{}:step"], "got no calls for"),
        (["retraces", "{}:step", "-c", "some"], "a number or true or false"),
        (["diff", "{}", "{}:step", "-a", "f64[3]"], "diff: got target="),
        (["diff", "absent.json", "{}:step", "-a", "f64[3]"], "give a file of jaxmeter diff --save"),
        (["diff", "{}:step", "{}:step"], "diff: got no arguments for"),
        (["memory", "{}:step"], "memory: got no arguments for"),
        (["diff", "{0}:case", "{0}:case", "--save", "absent/a"], "give a writable path"),
    ],
)
def test_bad_usage_is_told_in_one_line(module, arguments, message, capsys):
    name = module()
    assert main([text.format(name) for text in arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


@pytest.mark.parametrize(
    "arguments",
    [
        ["retraces", "{}:broken", "-c", "f64[3]"],
        ["diff", "{}:broken", "{}:step", "-a", "f64[3]"],
        ["memory", "{}:broken", "-a", "f64[3]"],
    ],
)
def test_what_cannot_be_traced_is_told_with_its_traceback(module, arguments, capsys):
    name = module()
    assert main([text.format(name) for text in arguments]) == 3
    assert "ZeroDivisionError: on purpose" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["audit", "retraces", "diff", "memory", "calibrate"])
def test_each_command_tells_its_exit_codes(command, capsys):
    with pytest.raises(SystemExit) as left:
        main([command, "--help"])
    assert left.value.code == 0
    assert "exit codes: 0 " in capsys.readouterr().out
