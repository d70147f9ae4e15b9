"""Arguments come from types and shapes, files, a hook, or a function that makes a case.

Bad usage prints one line and exits with code 2.
"""

import pickle
import shlex
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from jaxmeter import Audit, Case, JaxmeterError
from jaxmeter.__main__ import main
from jaxmeter._cli.arguments import calls_from_options, parse_arguments, static_options
from jaxmeter._measure.targets import resolve

HOOK = """

def jaxmeter_arguments(name, size=10):
    if name == "power":
        return jnp.ones(3)
    return Case(step, (jnp.ones(size),)) if name == "case" else (jnp.ones(size),)
"""


@pytest.fixture
def audited(printed_by):
    """Return a function that runs ``jaxmeter audit`` and returns the audit."""
    return lambda *arguments: Audit.from_json(printed_by("audit", *arguments, "--json", "-").out)


def test_shapes_on_the_command_line_are_arguments(module, printed_by):
    name = module()
    arguments = ["audit", f"{name}:step", "-a", "f64[10]", "-a", "scale=3.0"]
    printed = printed_by(*arguments, "--threshold", "100", code=1).out
    assert f"{name}.py:12 used in step: return scale * jnp.tanh(weights @ x)" in printed
    assert "give step an argument weights" in printed
    assert "suggestions" not in printed_by(*arguments).out


def test_a_function_that_returns_a_case_is_called_with_parameters(module, audited):
    (array,) = audited(f"{module()}:case", "-p", "factor=3.0").arrays
    assert array.path == "weights"


@pytest.mark.parametrize(
    ("text", "args", "kwargs"),
    [
        ('3 mode="very fast"', (3,), {"mode": "very fast"}),
        ("(3,4)  mode='fast'", ((3, 4),), {"mode": "fast"}),
        (r'"a \"quoted\" word"', ('a "quoted" word',), {}),
        ("", (), {}),
    ],
)
def test_a_string_in_a_call_has_quotation_marks_and_may_have_spaces(text, args, kwargs):
    assert calls_from_options("module:function", [text]) == [(args, kwargs)]


@pytest.mark.parametrize("function", ["step", "case"])
def test_a_hook_in_the_module_gives_arguments(module, audited, function):
    found = audited(f"{module(HOOK)}:{function}", "-p", "size=10")
    assert (found.name, found.captured_bytes) == ("step", 1600)


@pytest.mark.parametrize("how", ["npz", "pickle", "pickled pair"])
def test_a_file_gives_arguments(module, tmp_path, audited, how):
    x = np.ones(10)
    if how == "npz":
        np.savez(tmp_path / "arguments", x, scale=np.float64(2.0))
        given = ["--npz", "arguments.npz"]
    else:
        content = (x,) if how == "pickle" else ((x,), {"scale": 2.0})
        (tmp_path / "arguments").write_bytes(pickle.dumps(content))
        given = ["--pickle", "arguments"]
    assert audited(f"{module()}:step", *given).captured_bytes == 1600


def test_a_function_without_arguments_is_traced_and_not_called_to_make_a_case(module, audited):
    name = module()
    (array,) = audited(f"{name}:alone", "--no-args").arrays
    assert array.path == "weights"
    assert len(sys.modules[name].calls) == 1  # traced


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
    (first,), named = parse_arguments([text, f"x={text}"])
    assert (str(first.dtype), first.shape) == (dtype, shape)
    assert named == {"x": first}


def test_texts_and_tuples_are_written_as_in_json_or_python():
    given = ['"fast"', "(3, 4)", "[1, [2]]", "mode='a b'", "sizes=(1,)"]
    assert parse_arguments(given) == (("fast", (3, 4), (1, (2,))), {"mode": "a b", "sizes": (1,)})
    assert parse_arguments(["mode=fast", "n=3"], static=["mode", "n"])[1] == {
        "mode": "fast",
        "n": 3,
    }
    with pytest.raises(JaxmeterError, match="a quoted string or a tuple"):
        parse_arguments(["mode=fast"])


def test_static_names_from_the_command_line_are_added_to_those_of_the_case():
    case = Case(lambda x, mode, n: x, (1.0,), jit_options={"static_argnames": "mode"})
    assert static_options(case.fn, ["n"], case.jit_options)["static_argnames"] == ("mode", "n")
    assert static_options(case.fn, [], case.jit_options)["static_argnames"] == "mode"


def test_64_bit_types_need_the_option_jax_enable_x64():
    jax.config.update("jax_enable_x64", False)
    try:
        assert parse_arguments(["f32[3]", "c64[3]", "true", "n=3"])[1] == {"n": 3}
        for text in ("f64[3]", "c128[3]", "i64[3]"):
            with pytest.raises(JaxmeterError, match="set JAX_ENABLE_X64=1"):
                parse_arguments([text])
    finally:
        jax.config.update("jax_enable_x64", True)


@pytest.mark.parametrize(
    "arguments",
    [
        ["audit", "{}:repeated", "-a", "f64[]", "-a", "n=3", "--static", "n"],
        ["memory", "{}:repeated", "-a", "f64[]", "-a", "3", "--static", "n"],
        ["diff", "{0}:repeated", "{0}:repeated", "-a", "f64[]", "-a", "n=3", "--static", "n"],
        ["memory", "{}:jitted", "-a", "f64[]", "-a", "n=3"],
        [
            *("audit", "./{}.py:shaped", "-a", "mode=fast", "-a", "shape=(2, 3)"),
            *("--static", "mode", "--static", "shape"),
        ],
    ],
)
def test_static_arguments_can_be_given_by_name_or_position(module, arguments):
    name = module()
    assert main([text.format(name) for text in arguments]) == 0


def test_a_file_in_any_folder_can_be_a_target_and_is_run_once(module, audited, tmp_path):
    folder = tmp_path / "more"
    folder.mkdir()
    text = Path(f"{module(HOOK)}.py").read_text()
    (folder / "beside.py").write_text("BESIDE = 1\n")
    for name in ("json", "a-b"):  # the name of an imported module, and a name with a hyphen
        file = folder / f"{name}.py"
        file.write_text(f"import beside\nassert __name__ != '__main__'\n{text}")
        assert audited(f"{file}:step").captured_bytes == 1600
        assert resolve(f"{file}:step") is resolve(f"{folder}/../more/{name}.py:step")
    with pytest.raises(JaxmeterError, match="there is no file .*none.py"):
        resolve(f"{folder}/none.py:step")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        # The target.
        ("audit {}", "give 'package.module:function' or 'file.py:function'"),
        ("diff {} {}:step -a f64[3]", "diff: got target="),
        ("compare {} {}:step", "compare: got target="),
        ("audit {}:absent -a 1.0", "has no absent; name a function of that module"),
        ("audit {}:weights -a 1.0", "name a function that JAX can trace"),
        ("diff absent.json {}:step -a f64[3]", "give a file that jaxmeter diff --save wrote"),
        # Its arguments.
        ("audit {}:step", "got no arguments for"),
        ("audit {}:alone", "which was called to make a case; give --arg f64[64,3]"),
        ("audit {}:step -a f99[3]", "give a type and shape such as f64[64,3]"),
        ("audit {}:step -a object[3]", "JAX has no arrays of this type"),
        ("audit {}:step -a U10[3]", "JAX has no arrays of this type"),
        ("audit {}:step -a 'n={[]: 1}'", "give a type and shape"),
        ("audit {}:step -a some", "a number, true or false, a quoted string"),
        ("audit {}:step -a some", "for other values, use --npz, --pickle or jaxmeter_arguments"),
        ("audit {}:step -a x=f64[3] -a f64[3]", "give positional arguments first"),
        ("audit {}:step --npz absent.npz", "give a file that np.savez"),
        ("audit {}:step --pickle absent", "give a file that pickle.dump"),
        # Parameters of the function that makes the case.
        ("audit {}:case -p size", "--param: got 'size'; give NAME=VALUE"),
        ("audit {}:case -p sze=4", "got the parameter sze for {}:case, which takes size, factor"),
        ("audit {}:alone -p n=4", "got the parameter n for {}:alone, which takes no arguments"),
        ("audit {}:step -p n=3 -a f64[3]", "got --param n=3 and --arg; the two cannot"),
        # Static arguments, calls.
        ("diff {}:step {}:step -a f64[] --static m", "got 'm', but step takes x, scale"),
        ("memory {}:jitted -a f64[] --static n", "already jitted; give them to"),
        ("retraces {}:step", "got no calls for"),
        ("retraces {}:step -c some", "--call: got 'some'; give a type and shape"),
        ("retraces {}:step -c some", "for other values, use jaxmeter_calls(name)"),
        ('retraces {}:step -c "f64[3] \'n"', "close all quotation marks"),
        ("retraces {}:step -c 'n=1 f64[3]'", "--call: got 'f64[3]' after a named argument"),
        # Other options.
        ("audit {}:step -a f64[10] --json - --markdown -", "give one of them a file"),
        ("audit {}:step -a f64[10] --json absent/a", "give a writable path"),
        ("diff {}:case {}:case --save absent/a", "give a writable path"),
        # Measuring, without the name of a command.
        ("{}:case --repeat 0", "got repeat=0"),
        ("{}:case -p size=[1]", "got params"),
        (
            "{}",
            "got target='{}'; give 'package.module:function' or 'file.py:function', or a command: ",
        ),
        ("adit {}:step", "'file.py:function', or a command: audit"),
        ("adit", "retraces, compile, watch, cache, diff, lock, memory, calibrate"),
    ],
)
def test_bad_usage_is_reported_in_one_line(module, command, message, capsys):
    name = module()
    assert main(shlex.split(command.replace("{}", name))) == 2
    printed = capsys.readouterr()
    (line,) = printed.err.splitlines()
    assert message.replace("{}", name) in line
    assert not printed.out or "writable" in message  # found when the result is written


def test_bad_usage_of_the_hook_names_the_hook_or_what_it_should_return(module, capsys):
    name = module(HOOK)
    assert main(["audit", f"{name}:prints", "-p", "size=4"]) == 0
    capsys.readouterr()
    assert main(["audit", f"{name}:prints", "-p", "sze=4"]) == 2
    assert f"for {name}:jaxmeter_arguments, which takes name, size" in capsys.readouterr().err
    assert main(["audit", f"{name}:power"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "return a tuple of arguments, such as (x,) for one argument, or a jaxmeter.Case" in line
