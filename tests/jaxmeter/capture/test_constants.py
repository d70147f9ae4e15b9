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
from jaxmeter import Audit, Case
from jaxmeter._capture.constants import count_constants
from tests.jaxmeter.capture.capture_situations import SITUATIONS, measured

TABLE = np.linspace(0.1, 1.0, 2500)  # 20 kB
SCRIPT = """
import json
from tests.jaxmeter.capture.test_constants import measured_here
print(json.dumps(measured_here()))
"""


def scaled_by(table):
    held = jnp.asarray(table)
    return lambda x: (held * x).sum()


def measured_here():
    """Measure all situations, and small programs, under the settings of this process."""
    found = {name: measured(name) for name in SITUATIONS}
    held = jnp.asarray(TABLE)
    functions = {"scaled": scaled_by(TABLE), "reduced": lambda x: jnp.exp(held).sum() * x}
    programs = {}
    for name, fn in functions.items():
        inventory = jaxmeter.inventory(Case(fn, (2.0,)))
        programs[name] = {
            "answer": float(jax.jit(fn)(2.0)),
            "argument_bytes": inventory.memory.argument_bytes,
            "flops": inventory.program.flops,
            "suggestions": jaxmeter.audit(fn, 2.0, threshold_bytes=1000).suggestions,
        }
    texts = [jax.jit(scaled_by(t)).lower(2.0).as_text() for t in (TABLE, TABLE + 1.0)]
    return programs | {
        "is_same_text": texts[0] == texts[1],
        "situations": {
            name: [asdict(one.constants), one.audit.to_json(), one.hoisted_audit.to_json()]
            for name, one in found.items()
        },
    }


@pytest.fixture(scope="module")
def simplified():
    """Measure in a process with simplified constants, which are to become the default of JAX.

    See jax pull requests 36974 and 36975.
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


@pytest.fixture(scope="module")
def embedding():
    return measured_here()


@pytest.mark.parametrize("name", SITUATIONS)
def test_captured_bytes_and_each_embedded_occurrence_are_counted_exactly(name):
    truth, found = SITUATIONS[name], measured(name).constants
    assert sorted(array.bytes for array in found.arrays) == sorted(truth.captured)
    assert found.captured_bytes == sum(truth.captured)
    assert found.embedded_count == len(truth.embedded)
    assert found.embedded_bytes == sum(truth.embedded)
    assert found.hidden_argument_bytes == 0


@pytest.mark.parametrize("name", SITUATIONS)
def test_simplified_mode_turns_embedded_into_hidden_arguments(name, simplified):
    situation, found = SITUATIONS[name], simplified["situations"][name][0]
    sizes = [array["bytes"] for array in found["arrays"]]
    assert sorted(sizes) == sorted(situation.captured)
    assert found["hidden_argument_bytes"] == sum(situation.hidden)
    assert found["hidden_argument_count"] == len(situation.hidden)
    # Small arrays stay embedded.
    assert found["embedded_bytes"] == sum(size for size in situation.embedded if size <= 32)


@pytest.mark.parametrize("name", SITUATIONS)
def test_an_audit_in_simplified_mode_finds_the_same_holders_and_nothing_to_change(name, simplified):
    situation, (_, *audits) = SITUATIONS[name], simplified["situations"][name]
    audited, hoisted = map(Audit.from_json, audits)
    assert sorted(array.path for array in audited.arrays) == sorted(situation.paths)
    assert all(array.uses for array in audited.arrays)
    assert audited.hidden_argument_bytes == sum(situation.hidden)
    assert sum(array.hidden_count for array in audited.arrays) == len(situation.hidden)
    assert audited.verdict == "fine"
    assert all(array.shape == () for array in hoisted.arrays)


@pytest.mark.parametrize("name", ["scaled", "reduced"])
def test_answers_are_the_same_and_only_embedded_arrays_have_suggestions(
    name, embedding, simplified
):
    embedded, hidden = embedding[name], simplified[name]
    assert embedded["answer"] == pytest.approx(hidden["answer"], rel=1e-12)
    assert hidden["argument_bytes"] == embedded["argument_bytes"] + TABLE.nbytes
    assert "embedded in the program" in embedded["suggestions"][0] and not hidden["suggestions"]


def test_folded_operations_run_in_every_call_if_their_arrays_are_hidden_arguments(
    embedding, simplified
):
    assert embedding["reduced"]["flops"] < 10 and simplified["reduced"]["flops"] >= TABLE.size


def test_another_value_changes_the_program_only_if_the_value_is_embedded(embedding, simplified):
    assert not embedding["is_same_text"] and simplified["is_same_text"]


MEASURED = Path(__file__).parents[3] / "studies" / "situations" / "measured"
TABLES = {file.stem: file for file in MEASURED.glob("jax_*.csv")}


def test_there_are_tables_of_two_versions_of_jax():
    assert len(TABLES) >= 2


@pytest.mark.parametrize("table", TABLES)
def test_the_stored_table_is_correct_in_every_situation(table):
    with TABLES[table].open() as stream:
        rows = list(csv.DictReader(stream))
    named = [row for row in rows if row["situation"] in SITUATIONS]
    assert len(named) >= 25 and {row["correct"] for row in rows} == {"yes"}
    for row in named:
        truth = SITUATIONS[row["situation"]]
        assert int(row["captured_bytes_true"]) == sum(truth.captured)
        assert row["captured_bytes_reported"] == row["captured_bytes_true"]
        assert row["embedded_bytes_reported"] == row["embedded_bytes_true"]
        assert row["paths_reported"] == "; ".join(sorted(truth.paths))


def test_an_array_in_a_nested_jit_is_found_with_its_place():
    held = jnp.asarray(np.random.default_rng(1).normal(size=(32, 32)))

    @jax.jit
    def inner(x):
        return held @ x

    def outer(x):
        return jax.lax.fori_loop(0, 3, lambda _, y: inner(y), x)

    (array,) = count_constants(jax.jit(outer).trace(jnp.ones(32)).jaxpr).arrays
    assert (array.shape, array.dtype, array.bytes) == ((32, 32), "float64", 32 * 32 * 8)
    assert array.where.endswith("jit(inner)")


def test_equal_arrays_that_are_two_objects_count_twice():
    first, second = (jnp.asarray(np.arange(6.0)) for _ in range(2))
    traced = jax.jit(lambda x: first + x * second).trace(jnp.ones(6))
    assert [array.bytes for array in count_constants(traced.jaxpr).arrays] == [48, 48]


def test_without_a_lowered_program_only_captured_arrays_are_known():
    traced = jax.jit(lambda x: jnp.asarray(np.arange(3.0)) + x).trace(jnp.ones(3))
    constants = count_constants(traced.jaxpr)
    assert constants.captured_bytes == 24
    assert constants.embedded_bytes is None
    assert constants.hidden_argument_bytes is None


@pytest.mark.parametrize("dtype", ["float64", "complex128", "bool", "int32"])
def test_equal_elements_embed_nothing_in_any_dtype(dtype):
    held = jnp.ones((5, 7), dtype)
    traced = jax.jit(lambda i: held[i]).trace(3)
    constants = count_constants(traced.jaxpr, traced.lower())
    assert constants.captured_bytes == held.nbytes
    assert (constants.embedded_bytes, constants.embedded_count) == (0, 0)
