"""A notebook shows results as tables, and its cells are audited, measured and watched."""

import ast
import runpy
import sys
import types
from typing import Any

import jax.numpy as jnp
import pytest

from jaxmeter import JaxmeterError
from jaxmeter._notebook import write_module
from jaxmeter._render.units import place_text

nbclient: Any = pytest.importorskip("nbclient", reason="needs nbclient: pip install -e .[test]")
nbformat: Any = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel", reason="needs ipykernel: pip install -e .[test]")

CELLS = (
    """
%load_ext jaxmeter
import jax
import jax.numpy as jnp
import numpy as np
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_default_matmul_precision", "highest")
weights = jnp.asarray(np.random.default_rng(0).normal(size=(50, 50)))
x = jnp.ones(50)
def step(x):
    return jnp.tanh(weights @ x)
""",
    "%%jaxmeter audit\nstep(x)",
    "%%jaxmeter audit\ny = 2.0\n(weights @ x).sum() * y",
    "%%jaxmeter measure\nstep(x)",
    """
%%jaxmeter watch
doubled = jax.jit(lambda x: 2 * x)
print(doubled(x).shape, doubled(np.ones(3)).shape)
""",
    "%%jaxmeter audit\nz = x",
    "%%jaxmeter guess\nstep(x)",
    "%%jaxmeter measure\nclass Odd: pass\nOdd().missing(x)",
    "%%jaxmeter watch\njax.jit(lambda x: 3 * x)(np.ones(2))\n1 / 0",
    "fast = jax.jit(step)",
    "%%jaxmeter measure\nfast(x)",
)


@pytest.fixture(scope="module")
def outputs():
    """Execute the notebook in a kernel of its own; return the outputs of each cell."""
    cells = [nbformat.v4.new_code_cell(cell.strip("\n")) for cell in CELLS]
    notebook = nbformat.v4.new_notebook(cells=cells)
    client = nbclient.NotebookClient(notebook, timeout=300, allow_errors=True)
    client.execute()
    return [cell.outputs for cell in notebook.cells]


def shown(outputs):
    """Return the HTML and the text of the result that is a cell's only output."""
    (output,) = outputs
    assert output.output_type == "execute_result", output
    return output.data["text/html"], output.data["text/plain"]


def test_a_cell_that_ends_with_a_call_is_audited_with_its_arguments(outputs):
    assert outputs[0] == []
    html, plain = shown(outputs[1])
    assert "captures 20 kB in 1 array" in html
    assert "<code>return jnp.tanh(weights @ x)</code>" in html
    assert plain.startswith("Audit(name='step'")


def test_a_cell_that_ends_with_an_expression_is_audited_without_arguments(outputs):
    html, _ = shown(outputs[2])
    assert "captures 20.4 kB in 2 arrays" in html
    assert "<code>(weights @ x).sum() * y</code>" in html


def test_a_cell_is_measured_in_a_process_that_gets_the_values_named_in_the_cell(outputs):
    html, plain = shown(outputs[3])
    assert "status='ok'" in plain and "failure=None" in plain
    # The process gets the options of the notebook. The array is in float64.
    assert "captured_bytes=20000" in plain
    assert "'jax_default_matmul_precision': 'highest'" in plain
    assert "steady-state run" in html


def test_a_watched_cell_keeps_its_output_and_shows_its_traces(outputs):
    printed, result = outputs[4]
    assert printed.text == "(50,) (3,)\n"
    assert "2 traces, 2 compiles of 1 function" in result.data["text/html"]
    assert "shape of x: (50,) -&gt; (3,)" in result.data["text/html"]


def test_a_watched_cell_that_raises_shows_its_traces_before_the_error(outputs):
    result, error = outputs[8]
    assert "1 trace, 1 compile of 1 function" in result.data["text/html"]
    assert error.ename == "ZeroDivisionError"


def test_a_cell_that_cannot_be_used_is_an_error_with_advice(outputs):
    for cell, message in ((5, "end the cell with a call such as"), (6, "audit, measure, watch")):
        (error,) = outputs[cell]
        assert error.ename == JaxmeterError.__name__ and message in error.evalue


def test_a_cell_that_fails_in_the_other_process_is_shown_as_a_failed_record(outputs):
    html, _ = shown(outputs[7])
    assert "AttributeError in setup" in html and "no attribute &#x27;missing&#x27;" in html


def test_a_cell_that_needs_a_value_that_its_process_does_not_get_says_what_to_do(outputs):
    html, _ = shown(outputs[10])
    assert "NameError in setup" in html and "define fast in the cell" in html


WRAPPED = """
import jax
def jit_of_map(fn): return jax.jit(jax.vmap(fn))
def gradient(x): return x
gradient = jax.grad(gradient)
@jax.jit
def jitted(x): return x
@jax.hessian
def second(x): return x**3
@jit_of_map
def both(x): return x
@jax.jit
def swapped(x): return x
swapped = jax.grad(swapped.__wrapped__)
twice = lambda x: 2 * x; thrice = lambda x: 3 * x
"""


def test_a_process_gets_no_function_without_its_wrapper(tmp_path):
    file, module = tmp_path / "cells.py", tmp_path / "module.py"
    file.write_text(WRAPPED)
    names = runpy.run_path(str(file), run_name="__main__")
    write_module(module, ast.parse("gradient, jitted, second, both, swapped, twice"), names)
    found = runpy.run_path(str(module))
    assert found["jitted"](3) == 3 and hasattr(found["jitted"], "lower")
    assert (found["second"](3.0), found["both"](jnp.ones(2)).shape) == (18.0, (2,))
    assert not {"gradient", "swapped", "twice"} & found.keys()


def test_a_line_of_a_cell_is_shown_with_the_number_of_the_cell(monkeypatch):
    file = "/tmp/ipykernel_12/3456.py"
    compiler = types.SimpleNamespace(_filename_map={file: 3})
    shell = types.SimpleNamespace(compile=compiler)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    assert place_text(f"{file}:7") == "In [3]:7"
    assert place_text("/tmp/ipykernel_12/9.py:7") == "/tmp/ipykernel_12/9.py:7"
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: None))
    assert place_text(f"{file}:7") == f"{file}:7"
