"""In a process that was forked after JAX had started, calls raise an error and do not hang."""

import os
import pathlib
import subprocess
import sys

import pytest

_FORKS = """
import multiprocessing, warnings
warnings.simplefilter("ignore", RuntimeWarning)  # JAX's own at each fork; others stay
import jax
jax.config.update("jax_enable_x64", True)
import numpy as np
import vcjax
from tests.vcjax.hostile.problems import chosen, torus_problem
from vcjax import problems

torus = torus_problem(problems.circular_torus(minor_radius=0.5))

def separated():
    rule = chosen(torus.X, torus.B)
    casing = vcjax.prepare(rule, torus.X)
    return casing, np.asarray(vcjax.external_field(casing, torus.B))

def message(name, *arguments):
    try:
        getattr(vcjax, name)(*arguments)
    except vcjax.VcjaxError as error:
        return str(error)
    return "no error"

def from_child(call, *arguments):
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply_async(call, arguments).get(timeout=250)

before = from_child(separated)[1]  # JAX starts in the child
casing, plain = separated()
# Two runs on a GPU can add numbers in another order.
DIFFERENCE = 0 if jax.default_backend() == "cpu" else 1e-13
np.testing.assert_allclose(before, plain, rtol=0, atol=DIFFERENCE)
print(from_child(message, "external_field", casing, torus.B))
print(from_child(message, "prepare", casing.rule, torus.X))
print(from_child(message, "self_test", casing))
after = vcjax.external_field(casing, torus.B)  # the parent goes on
np.testing.assert_allclose(after, plain, rtol=0, atol=DIFFERENCE)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_calls_raise_in_a_process_forked_after_jax_started_and_work_if_forked_before():
    done = subprocess.run(
        [sys.executable, "-c", _FORKS],
        cwd=pathlib.Path(__file__).parents[3],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    for line, call in zip(
        done.stdout.splitlines(), ("external_field", "prepare", "self_test"), strict=True
    ):
        assert line.startswith(f"{call} runs in a process that was forked after JAX had started")
        assert "get_context('spawn')" in line
