"""Captured, embedded and hidden constants are counted to the byte."""

import csv
import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxmeter
from jaxmeter import Audit
from jaxmeter._capture.constants import count_constants
from tests.jaxmeter.capture.capture_situations import SITUATIONS, measured

STORED = Path(__file__).parents[3] / "studies" / "situations" / "measured"
TABLE = np.linspace(0.1, 1.0, 2500)  # 20 kB
SCRIPT = """
import json
from tests.jaxmeter.capture.test_constants import measured_here
print(json.dumps(measured_here()))
"""


def reduced(table):
    held = jnp.asarray(table)
    return lambda x: jnp.exp(held).sum() * x


def measured_here():
    """Measure all situations and a program that can be folded, with this process's options."""
    fn = reduced(TABLE)
    record = jaxmeter.measure(fn, 2.0, repeat=1)
    assert record.environment is not None
    texts = [jax.jit(reduced(t)).lower(2.0).as_text() for t in (TABLE, TABLE + 1.0)]
    found = {name: measured(name) for name in SITUATIONS}
    return {
        "answer": float(jax.jit(fn)(2.0)),
        "argument_bytes": record.memory.argument_bytes,
        "hidden_bytes": record.constants.hidden_argument_bytes,
        "option": record.environment.jax_options["jax_use_simplified_jaxpr_constants"],
        "flops": record.program.flops,
        "suggestions": jaxmeter.audit(fn, 2.0, threshold_bytes=1000).suggestions,
        "is_same_text": texts[0] == texts[1],
        "situations": {
            name: [asdict(one.constants), one.audit.to_json(), one.hoisted_audit.to_json()]
            for name, one in found.items()
        },
    }


@pytest.fixture(scope="module")
def simplified():
    """Measure in a process with simplified constants.

    They are planned as JAX's default: see jax pull requests 36974 and 36975.
    """
    if jax.__version_info__ < (0, 8):
        pytest.skip("JAX 0.7 fails to lower in simplified mode")
    env = os.environ | {
        "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS": "1",
        "JAX_ENABLE_X64": "1",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    done = subprocess.run(
        [sys.executable, "-P", "-c", SCRIPT], env=env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", SITUATIONS)
def test_simplified_constants_are_hidden_arguments_and_need_no_change(name, simplified):
    situation, (counted, *audits) = SITUATIONS[name], simplified["situations"][name]
    audited, hoisted = map(Audit.from_json, audits)
    assert sorted(array["bytes"] for array in counted["arrays"]) == sorted(situation.captured)
    assert sorted(array.path for array in audited.arrays) == sorted(situation.paths)
    assert all(array.uses for array in audited.arrays)
    assert counted["hidden_argument_bytes"] == audited.hidden_argument_bytes
    assert audited.hidden_argument_bytes == sum(situation.hidden)
    count = sum(array.hidden_count for array in audited.arrays)
    assert count == counted["hidden_argument_count"] == len(situation.hidden)
    # Small arrays stay embedded.
    assert counted["embedded_bytes"] == sum(size for size in situation.embedded if size <= 32)
    assert audited.verdict == "fine"
    assert all(array.shape == () for array in hoisted.arrays)


def test_hidden_arguments_give_the_same_answer_and_one_program_for_all_values(simplified):
    embedded, hidden = measured_here(), simplified
    assert embedded["answer"] == pytest.approx(hidden["answer"], rel=1e-12)
    assert hidden["argument_bytes"] == embedded["argument_bytes"] + TABLE.nbytes
    assert (embedded["option"], hidden["option"]) == (False, True)
    assert (embedded["hidden_bytes"], hidden["hidden_bytes"]) == (0, TABLE.nbytes)
    assert "embedded in the program" in embedded["suggestions"][0] and not hidden["suggestions"]
    assert hidden["is_same_text"] and not embedded["is_same_text"]
    # The compiler folds operations on embedded arrays, but not on hidden arguments.
    assert embedded["flops"] < 10 and hidden["flops"] >= TABLE.size


@pytest.mark.parametrize("version", ["0.7.2", "0.10.2", "0.12.0.1"])
def test_the_stored_table_agrees_with_every_situation(version):
    with (STORED / f"jax_{version}.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    named = [row for row in rows if row["situation"] in SITUATIONS]
    assert len(named) >= 25 and {row["correct"] for row in rows} == {"yes"}
    for row in named:
        truth = SITUATIONS[row["situation"]]
        assert int(row["captured_bytes_true"]) == sum(truth.captured)
        assert row["captured_bytes_reported"] == row["captured_bytes_true"]
        assert row["embedded_bytes_reported"] == row["embedded_bytes_true"]
        assert row["paths_reported"] == "; ".join(sorted(truth.paths))


def test_an_array_in_a_nested_jit_has_its_place_and_is_known_before_lowering():
    held = jnp.asarray(np.random.default_rng(1).normal(size=(32, 32)))

    @jax.jit
    def inner(x):
        return held @ x

    def outer(x):
        return jax.lax.fori_loop(0, 3, lambda _, y: inner(y), x)

    constants = count_constants(jax.jit(outer).trace(jnp.ones(32)).jaxpr)
    (array,) = constants.arrays
    assert (array.shape, array.dtype, array.bytes) == ((32, 32), "float64", 32 * 32 * 8)
    assert array.where.endswith("jit(inner)")
    assert constants.captured_bytes == array.bytes
    assert constants.embedded_bytes is constants.hidden_argument_bytes is None


def test_equal_arrays_that_are_two_objects_count_twice():
    first, second = (jnp.asarray(np.arange(6.0)) for _ in range(2))
    traced = jax.jit(lambda x: first + x * second).trace(jnp.ones(6))
    assert [array.bytes for array in count_constants(traced.jaxpr).arrays] == [48, 48]
