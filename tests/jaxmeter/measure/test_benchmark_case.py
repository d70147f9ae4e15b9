"""Benchmark cases and cases are checked when they are made; errors name the field."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from jaxmeter import BenchmarkCase, Case, JaxmeterError

CASE = BenchmarkCase(
    name="suite/case",
    target="package.module:function",
    params={"digits": 6, "half": True, "scale": 0.5, "mode": "argument", "chunk": None},
    repeat=7,
    max_seconds=2.0,
    timeout_seconds=30.0,
    env={"OMP_NUM_THREADS": "1"},
    path=("/some/where",),
    cpus=(0, 1),
)


@pytest.mark.parametrize("case", [CASE, BenchmarkCase("a", "b:c")], ids=["full", "least"])
def test_a_benchmark_case_comes_back_from_json_equal(case):
    assert BenchmarkCase.from_json(case.to_json()) == case


def test_a_benchmark_case_turns_lists_into_tuples():
    case = BenchmarkCase("a", "b:c", path=["x"], cpus=[0, 1])  # pyright: ignore
    assert (case.path, case.cpus) == (("x",), (0, 1))


UNUSABLE = {
    "name": ("", 3),
    "target": ("module", "module:", "a b:c", "mod:f()"),
    "params": ([1], {"not a name": 1}, {"x": [1]}, {"x": math.nan}),
    "repeat": (0, 2.0, True),
    "max_seconds": (0,),
    "timeout_seconds": (0, math.inf, "10"),
    "env": ({"A": 1},),
    "path": ("folder",),
    "cpus": ((), (-1,), 0),
}


@pytest.mark.parametrize(
    ("field", "value"), [(field, value) for field in UNUSABLE for value in UNUSABLE[field]]
)
def test_a_benchmark_case_refuses_an_unusable_field(field, value):
    with pytest.raises(JaxmeterError, match=rf"^BenchmarkCase: got .*{field[:5]}.*; give "):
        dataclasses.replace(CASE, **{field: value})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not valid JSON"),
        ("[]", "got `array`"),
        ('{"name": "a"}', "required field `target`"),
        ('{"name": "a", "target": "b:c", "reps": 3}', r"unknown field benchmarkcase\.reps"),
        ('{"name": "a", "target": "b"}', "got target='b'"),
    ],
)
def test_json_that_is_not_a_benchmark_case_is_refused(text, message):
    with pytest.raises(JaxmeterError, match=message):
        BenchmarkCase.from_json(text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(fn=3), "got fn=3; give a callable"),
        (dict(fn=len, args="ab"), "got args='ab'; give a tuple"),
        (dict(fn=len, kwargs=3), "got kwargs=3"),
        (dict(fn=len, jit_options=[1]), r"got jit_options=\[1\]"),
        (dict(fn=len, check=3), "got check=3"),
        (dict(fn=len, extras={"a": "1"}), r"got extras\['a'\] = '1'"),
        (dict(fn=len, extras={"a": None}), r"got extras\['a'\] = None"),
    ],
)
def test_a_case_refuses_an_unusable_field(arguments, message):
    with pytest.raises(JaxmeterError, match=f"^Case: {message}"):
        Case(**arguments)


def test_a_case_turns_its_extras_into_floats():
    given: Any = {"count": 3, "seconds": np.float32(0.5)}
    extras = Case(len, extras=given).extras
    assert extras == {"count": 3.0, "seconds": 0.5}
    assert all(type(value) is float for value in extras.values())
