"""The lock file has exact quantities. Each difference is named, and new lines are printed."""

import re
import tomllib

import jax
import pytest

from jaxmeter import JaxmeterError, LockCheck, markdown, table
from jaxmeter.__main__ import main
from jaxmeter._records.lock import (
    LOCK_FILE,
    check,
    read_lock,
    read_settings,
    section_name,
    write_lock,
)

SECTION = "jax 0.10.2, cpu"
LOCKED = {"m:f": {"temp_bytes": 100, "traces": 1}, "m:g": {"traces": 2}}
FUNCTIONS = """
import jax.numpy as jnp
import numpy as np

weights = jnp.asarray(np.random.default_rng(0).normal(size=(20, 10)))


def step(x):
    return jnp.tanh(weights @ x)


def other(x):
    return 2.0 * x


def jaxmeter_arguments(name):
    return (jnp.ones(10),)
"""


def verdicts(found):
    return {(one.function, one.quantity): one.verdict for one in found.changes}


def test_every_difference_is_a_regression_an_improvement_new_or_missing():
    now = {"m:f": {"temp_bytes": 101, "traces": 0, "compiles": 1}, "m:h": {"traces": 1}}
    assert verdicts(check(SECTION, LOCKED, now, {})) == {
        ("m:f", "compiles"): "new",
        ("m:f", "temp_bytes"): "regression",
        ("m:f", "traces"): "improvement",
        ("m:g", ""): "missing",
        ("m:h", ""): "new",
    }
    gone = check(SECTION, LOCKED, {"m:f": {"traces": 1}, "m:g": {"traces": 2}}, {})
    assert verdicts(gone) == {("m:f", "temp_bytes"): "missing"}
    assert check(SECTION, LOCKED, LOCKED, {}).changes == ()


def test_the_advice_names_the_command_that_writes_the_lines():
    for function, command in (("m:f", "jaxmeter lock"), ("t.py::a f", "pytest --jaxmeter-lock")):
        found = check(SECTION, {function: {"traces": 1}}, {function: {"traces": 2}}, {})
        assert f"if a change is intended, run {command}, or replace" in table(found)


@pytest.mark.parametrize(("now", "is_within"), [(105, True), (95, True), (106, False), (94, False)])
def test_a_margin_holds_for_its_quantity_in_both_directions(now, is_within):
    measured = LOCKED | {"m:f": {"temp_bytes": now, "traces": 1}}
    assert (not check(SECTION, LOCKED, measured, {"temp_bytes": 0.05}).changes) is is_within
    assert check(SECTION, LOCKED, measured, {"traces": 0.5}).changes


def test_every_rendering_contains_the_new_lines_to_paste():
    now = {"m:f": {"temp_bytes": 120, "traces": 1}, 'm:"h"\x7f': {"traces": 1}}
    found = check(SECTION, LOCKED, now, {})
    assert tomllib.loads(found.lines) == {
        SECTION: {"m:f": {"temp_bytes": 120}, 'm:"h"\x7f': {"traces": 1}}
    }
    assert table(found).endswith(f"\n\n{found.lines}")
    assert f"```\n{found.lines}\n```" in markdown(found)
    assert "temp_bytes = 120" in found._repr_html_()
    assert re.search(r"m:f +temp_bytes +100 +120 +\+20 % +regression", table(found))
    assert LockCheck.from_json(found.to_json()) == found


def test_writing_a_section_keeps_the_others_and_sorts_all(tmp_path):
    file = tmp_path / LOCK_FILE
    write_lock(file, "jax 2", {"b:f": {"traces": 1, "compiles": 1}, "a:f": {"traces": 1}})
    write_lock(file, "jax 1", {"a:f": {"traces": 3}})
    text = file.read_text()
    headings = [line for line in text.splitlines() if line.startswith("[")]
    assert headings == ['["jax 1"."a:f"]', '["jax 2"."a:f"]', '["jax 2"."b:f"]']
    assert text.endswith("compiles = 1\ntraces = 1\n")
    write_lock(file, "jax 1", {"a:f": {"traces": 3}})
    assert file.read_text() == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<<<<<<< HEAD", "not TOML .*; correct the file"),
        ('["jax"."m:f"]\ntraces = -1', "jax: m:f: got traces=-1; give a whole number >= 0"),
        ('["jax"."m:f"]\ntraces = "1"', "jax: m:f: got traces='1'; give a whole number$"),
        ("traces = 1", "got traces=1; give lines such as"),
        ("[jax]\ntraces = 1", "got jax={'traces': 1}; give lines such as"),
    ],
)
def test_a_file_that_is_not_a_lock_file_is_an_error(tmp_path, text, message):
    file = tmp_path / LOCK_FILE
    file.write_text(text)
    with pytest.raises(JaxmeterError, match=message):
        read_lock(file)


def test_a_lock_file_that_cannot_be_opened_does_not_count_as_missing(tmp_path):
    file = tmp_path / LOCK_FILE
    file.symlink_to(file)
    with pytest.raises(JaxmeterError, match=r"got '.*lock\.toml' \(Too many levels"):
        read_lock(file)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("function = []", "got the key 'function'; give only the keys functions and margins"),
        ("functions = [1]", "got functions="),
        ("margins = {temp = 0.1}", "got a margin for 'temp'; give margins only for traces, "),
        ("margins = {traces = -0.1}", "got margins="),
    ],
)
def test_an_invalid_table_of_settings_is_an_error_that_names_it(tmp_path, table, message):
    file = tmp_path / "pyproject.toml"
    file.write_text(f"[tool.jaxmeter.lock]\n{table}\n")
    with pytest.raises(JaxmeterError, match=rf"\[tool\.jaxmeter\.lock\]: {message}"):
        read_settings(file)


# The command.


def test_the_command_writes_checks_and_names_what_changed(write_module, tmp_path, capsys):
    name = write_module(FUNCTIONS)
    file = tmp_path / LOCK_FILE
    pyproject = tmp_path / "pyproject.toml"
    functions = f'functions = ["{name}:step", "{name}:other"]'
    pyproject.write_text(f"[tool.jaxmeter.lock]\n{functions}\n")
    assert main(["lock"]) == 0
    assert "2 functions, 2 new; written" in capsys.readouterr().out
    section = section_name()
    written = read_lock(file)[section]
    expected = {"traces": 1, "compiles": 1, "captured_bytes": 1600, "embedded_bytes": 1600}
    assert written[f"{name}:step"].items() >= (expected | {"jaxpr_equations_count": 2}).items()
    # The command keeps the quantities of tests and does not compare them.
    write_lock(file, section, written | {"tests/test_a.py::test_it f": {"traces": 1}})
    assert main(["lock", "--check"]) == 0
    assert "2 functions as locked" in capsys.readouterr().out
    changed = file.read_text().replace("captured_bytes = 1600", "captured_bytes = 8")
    file.write_text(changed.replace(f"{name}:other", f"{name}:gone"))
    assert main(["lock", "--check"]) == 1
    printed = capsys.readouterr().out
    assert re.search(r":step +captured_bytes +8 +1,600 +\S+ % +regression", printed)
    assert re.search(r":other +new\n", printed) and re.search(r":gone +missing\n", printed)
    assert "captured_bytes = 1600\n" in printed
    # Only the functions on the command line are compared and written.
    assert main(["lock", f"{name}:step", "--check"]) == 1
    assert "gone" not in capsys.readouterr().out
    assert main(["lock", f"{name}:step"]) == 0
    assert main(["lock", f"{name}:step", "--check"]) == 0
    file.write_text(file.read_text().replace("captured_bytes = 1600", "captured_bytes = 2000"))
    assert main(["lock", f"{name}:step", "--check"]) == 1  # an improvement that is not in the file
    assert "improvement" in capsys.readouterr().out
    pyproject.write_text("[tool.jaxmeter.lock]\nmargins = {captured_bytes = 0.2}\n")
    assert main(["lock", f"{name}:step", "--check"]) == 0
    # Without a list of functions, the functions of the file are checked.
    file.write_text(file.read_text().replace(f"{name}:gone", f"{name}:other"))
    capsys.readouterr()
    assert main(["lock", "--check"]) == 0
    assert "2 functions as locked" in capsys.readouterr().out
    file.write_text(file.read_text().replace(f"{name}:other", f"{name}:gone"))
    assert main(["lock", f"{name}:other"]) == 0
    assert set(read_lock(file)[section]) >= {f"{name}:step", f"{name}:gone", f"{name}:other"}
    capsys.readouterr()
    assert main(["lock", "--check"]) == 2
    assert f"{name} has no gone" in (error := capsys.readouterr().err)
    assert "if the function was removed, delete its lines in jaxmeter.lock.toml" in error


def test_the_command_without_a_section_or_functions_is_bad_usage(write_module, tmp_path, capsys):
    name = write_module(FUNCTIONS)
    write_lock(tmp_path / LOCK_FILE, "jax 0.1, tpu", {f"{name}:step": {"traces": 1}})
    assert main(["lock", "--check", f"{name}:step"]) == 2
    assert "has only the sections 'jax 0.1, tpu';" in capsys.readouterr().err
    (tmp_path / LOCK_FILE).write_text("")
    assert main(["lock", "--check", f"{name}:step"]) == 2
    assert "jaxmeter.lock.toml has no sections; run jaxmeter lock" in capsys.readouterr().err
    (tmp_path / LOCK_FILE).unlink()
    assert main(["lock", "--check", f"{name}:step"]) == 2
    assert "jaxmeter.lock.toml does not exist; run jaxmeter lock" in capsys.readouterr().err
    assert main(["lock"]) == 2
    assert "lock: got no functions, and jaxmeter.lock.toml has none" in capsys.readouterr().err


def test_the_section_names_the_settings_that_change_programs(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", " --xla_a=1  --xla_b=2 ")
    with jax.default_prng_impl("rbg"), jax.threefry_partitionable(False), jax.disable_jit():
        parts = section_name().split(", ")
    assert parts[0].startswith("jax 0.")
    assert parts[1:] == [
        jax.default_backend(),
        "jax_enable_x64=True",
        "jax_disable_jit=True",
        "jax_default_prng_impl=rbg",
        "jax_threefry_partitionable=False",
        "XLA_FLAGS=--xla_a=1 --xla_b=2",
    ]
