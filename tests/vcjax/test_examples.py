"""The examples run unchanged, and the numbers that they print are correct."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NUMBER = r"-?\d+\.?\d*(?:e[+-]?\d+)?"


def printed(name, folder, *arguments, **variables) -> str:
    """Run an example in a folder, with variables of the environment, and return what it prints."""
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *arguments]
    environment = os.environ | {"MPLCONFIGDIR": str(folder), "MPLBACKEND": "agg"} | variables
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_the_first_lines_of_an_example_install_what_it_imports(example):
    tree = ast.parse(example.read_text())
    run = re.search(r"Run: pip install (\S+); python examples/(\S+)", ast.get_docstring(tree) or "")
    assert run is not None and run[2] == example.name
    project = tomllib.loads((EXAMPLES.parent / "pyproject.toml").read_text())["project"]
    extra = {".": [], '".[plot]"': project["optional-dependencies"]["plot"]}[run[1]]
    installed = {re.split(r"\W", one)[0] for one in (*project["dependencies"], *extra)}
    nodes = list(ast.walk(tree))
    names = [one.name for node in nodes if isinstance(node, ast.Import) for one in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    imported = {name.partition(".")[0] for name in names}
    assert imported - {"vcjax"} - sys.stdlib_module_names <= installed


def test_the_w7x_example_reaches_its_digits_and_estimates_its_error(tmp_path):
    _, *lines = printed("w7x.py", tmp_path).splitlines()
    assert len(lines) == 2
    for line in lines:
        digits, *_, external, internal, estimate = map(float, re.findall(NUMBER, line))
        assert external <= min(estimate, 10**-digits)
        assert internal < 3 * estimate


def test_the_vmec_example_shows_normal_fields_that_cancel(tmp_path):
    numbers = re.findall(NUMBER, printed("vmec.py", tmp_path))
    total, external, internal = map(float, numbers[-3:])
    assert total < 1e-3 < external and abs(external - internal) < 1e-3


def test_the_shape_gradient_example_agrees_with_a_finite_difference(tmp_path):
    *_, slope, difference = map(float, re.findall(NUMBER, printed("shape_gradient.py", tmp_path)))
    assert abs(slope - difference) < 1e-3 * abs(slope)


def test_the_field_line_example_draws_a_picture(tmp_path):
    # This example runs longer than it compiles.
    flags = os.environ["XLA_FLAGS"].replace("optimization_level=0", "optimization_level=1")
    output = printed("poincare.py", tmp_path, "lines.png", XLA_FLAGS=flags)
    assert "; 0 lines hit the plasma" in output
    assert (tmp_path / "lines.png").read_bytes().startswith(b"\x89PNG")
