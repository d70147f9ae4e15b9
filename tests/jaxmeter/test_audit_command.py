"""``jaxmeter audit`` finds arguments, prints what it found, and tells the verdict by its code."""

import pickle
import subprocess
import sys

import jax
import numpy as np
import pytest

from jaxmeter import Audit
from jaxmeter.__main__ import main

MODULE = """
import jax.numpy as jnp
import numpy as np
from jaxmeter import Case

weights = jnp.asarray(np.random.default_rng(0).normal(size=(20, 10)))


def step(x, *, scale=1.0):
    return scale * jnp.tanh(weights @ x)


def case(size=10, factor=2.0):
    return Case(lambda x: factor * step(x), (jnp.ones(size),))


def broken(x):
    raise ZeroDivisionError("on purpose")


def small(x):
    return 2.0 * x


class Model:
    def apply(self, x):
        return weights @ x


model = Model()
"""

HOOK = """

def jaxmeter_arguments(name, size=10):
    if name == "wrong":
        return jnp.ones(3)
    return Case(step, (jnp.ones(size),)) if name == "case" else (jnp.ones(size),)


def wrong(x):
    return x
"""


@pytest.fixture
def module(write_module):
    """Writes the module, and what is added to it; gives its name."""
    return lambda *extra: write_module(MODULE, *extra)


def audited(text):
    return Audit.from_json(text)


def test_shapes_on_the_command_line_are_arguments(module, capsys):
    name = module()
    arguments = ["audit", f"{name}:step", "-a", "f64[10]", "-a", "scale=3.0"]
    assert main([*arguments, "--threshold", "100"]) == 1
    printed = capsys.readouterr().out
    assert "large  weights  float64[20, 10]  1600 B, embedded once" in printed
    assert f"{name}.py:10 used in step: return scale * jnp.tanh(weights @ x)" in printed
    assert "give step an argument weights" in printed
    assert main(arguments) == 0
    assert "to change" not in capsys.readouterr().out


def test_json_and_markdown_go_to_files_or_in_place_of_the_table(module, tmp_path, capsys):
    target = ["audit", f"{module()}:model.apply", "-a", "f64[10]"]
    assert main([*target, "--json", "a.json", "--markdown", "a.md"]) == 0
    found = audited((tmp_path / "a.json").read_text())
    assert [array.path for array in found.arrays] == ["weights"]
    assert (tmp_path / "a.md").read_text().startswith("### apply: captures 1600 B in 1 array")
    assert capsys.readouterr().out.startswith("apply: captures")
    assert main([*target, "--json", "-"]) == 0
    assert audited(capsys.readouterr().out) == found
    assert main([*target, "--markdown", "-"]) == 0
    assert capsys.readouterr().out == (tmp_path / "a.md").read_text()


def test_a_function_that_returns_a_case_is_called_with_parameters(module, capsys):
    assert main(["audit", f"{module()}:case", "-p", "factor=3.0", "--json", "-"]) == 0
    (array,) = audited(capsys.readouterr().out).arrays
    assert array.path == "weights"


@pytest.mark.parametrize("function", ["step", "case"])
def test_a_hook_in_the_module_gives_arguments(module, capsys, function):
    target = ["audit", f"{module(HOOK)}:{function}", "-p", "size=10"]
    assert main([*target, "--json", "-"]) == 0
    found = audited(capsys.readouterr().out)
    assert (found.name, found.captured_bytes) == ("step", 1600)


@pytest.mark.parametrize("how", ["npz", "pickle", "pickled pair"])
def test_a_file_gives_arguments(module, tmp_path, capsys, how):
    x = np.ones(10)
    if how == "npz":
        np.savez(tmp_path / "arguments", x, scale=np.float64(2.0))
        given = ["--npz", "arguments.npz"]
    else:
        held = (x,) if how == "pickle" else ((x,), {"scale": 2.0})
        (tmp_path / "arguments").write_bytes(pickle.dumps(held))
        given = ["--pickle", "arguments"]
    assert main(["audit", f"{module()}:step", *given, "--json", "-"]) == 0
    assert audited(capsys.readouterr().out).captured_bytes == 1600


@pytest.mark.parametrize(
    ("text", "dtype", "shape"),
    [
        ("f32[]", "float32", ()),
        ("bf16[2,3]", "bfloat16", (2, 3)),
        ("u8[4, 5]", "uint8", (4, 5)),
        ("bool[1]", "bool", (1,)),
        ("c128[2]", "complex128", (2,)),
        ("int32[2]", "int32", (2,)),
    ],
)
def test_types_are_written_short_or_long(text, dtype, shape):
    from jaxmeter._cli.arguments import parse_arguments

    args, kwargs = parse_arguments([text, f"x={text}"])
    assert (str(args[0].dtype), args[0].shape) == (dtype, shape)
    assert kwargs == {"x": args[0]}


def test_64_bit_types_need_jax_to_have_them():
    from jaxmeter._cli.arguments import parse_arguments
    from jaxmeter.errors import JaxmeterError

    jax.config.update("jax_enable_x64", False)
    try:
        assert parse_arguments(["f32[3]", "c64[3]", "true", "n=3"])[1] == {"n": 3}
        for text in ("f64[3]", "c128[3]", "i64[3]"):
            with pytest.raises(JaxmeterError, match="set JAX_ENABLE_X64=1"):
                parse_arguments([text])
    finally:
        jax.config.update("jax_enable_x64", True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{}"], "give 'package.module:function'"),
        (["{}:absent", "-a", "1.0"], "has no absent; name a function of that module"),
        (["{}:weights", "-a", "1.0"], "name a function that JAX can trace"),
        (["{}:step"], "got no arguments for"),
        (["{}:wrong"], "return a tuple of arguments, for one argument (x,)"),
        (["{}:step", "-a", "f99[3]"], "give a type and shape such as f64[64,3]"),
        (["{}:step", "-a", "some"], "a number or true or false"),
        (["{}:step", "-a", "x=f64[3]", "-a", "f64[3]"], "give positional arguments first"),
        (["{}:step", "--npz", "absent.npz"], "give a file of np.savez"),
        (["{}:step", "--pickle", "absent"], "give a file of pickle.dump"),
        (["{}:case", "-p", "size"], "--param: got 'size'; give NAME=VALUE"),
        (["{}:step", "-a", "f64[10]", "--threshold", "-1"], "got threshold_bytes=-1"),
        (["{}:step", "-a", "f64[10]", "--json", "-", "--markdown", "-"], "give one a file"),
        (["{}:step", "-a", "f64[10]", "--json", "absent/a"], "give a writable path"),
    ],
)
def test_bad_usage_is_told_in_one_line(module, arguments, message, capsys):
    name = module(HOOK if arguments[0] == "{}:wrong" else "")
    assert main(["audit", *(text.format(name) for text in arguments)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


@pytest.mark.parametrize("target", ["{}:broken", "absent_module:step"])
def test_what_cannot_be_traced_is_told_with_its_traceback(module, target, capsys):
    assert main(["audit", target.format(module()), "-a", "f64[3]"]) == 3
    assert "Traceback" in capsys.readouterr().err


def test_the_command_runs_from_the_folder_of_the_module(module):
    name = module()
    done = subprocess.run(
        [sys.executable, "-m", "jaxmeter", "audit", f"{name}:step", "-a", "f32[10]"],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    assert "weights" in done.stdout
