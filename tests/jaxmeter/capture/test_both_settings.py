"""Results with embedded captured arrays, and with hidden arguments instead.

Hidden arguments (simplified constants) are to become the default of JAX; see jax pull requests
36974 and 36975.
"""

import hashlib
import json
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxmeter

TABLE = np.linspace(0.1, 1.0, 2500)  # 20 kB
SETTING = "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS"
SCRIPT = """
import json
from tests.jaxmeter.capture.test_both_settings import found
print(json.dumps(found()))
"""


def scaled_by(table):
    held = jnp.asarray(table)
    return lambda x: (held * x).sum()


def found():
    """Measure a few small programs under the setting of this process."""
    held = jnp.asarray(TABLE)

    def reduced(x):
        return jnp.exp(held).sum() * x

    scaled = scaled_by(TABLE)
    values = {}
    for name, function in {"scaled": scaled, "reduced": reduced}.items():
        program = jaxmeter.inventory(jaxmeter.Case(function, (2.0,)))
        audited = jaxmeter.audit(function, 2.0, threshold_bytes=1000)
        values[name] = {
            "answer": float(jax.jit(function)(2.0)),
            "captured_bytes": program.constants.captured_bytes,
            "embedded_bytes": program.constants.embedded_bytes,
            "hidden_argument_bytes": program.constants.hidden_argument_bytes,
            "argument_bytes": program.memory.argument_bytes,
            "flops": program.program.flops,
            "paths": [array.path for array in audited.arrays],
            "suggestions": audited.suggestions,
        }
    texts = [jax.jit(scaled_by(t)).lower(2.0).as_text() for t in (TABLE, TABLE + 1.0)]
    values["texts"] = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
    hoisted, arrays = jaxmeter.hoist(scaled, 2.0)
    again = jaxmeter.audit(hoisted, arrays, 2.0)
    values["hoisted"] = [again.embedded_bytes, again.hidden_argument_bytes]
    return values


@pytest.fixture(scope="module")
def both():
    if jax.__version_info__ < (0, 8):
        pytest.skip("JAX 0.7 fails to lower in simplified mode")
    env = os.environ | {SETTING: "1", "JAX_ENABLE_X64": "1"}
    env["PYTHONPATH"] = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-P", "-c", SCRIPT], env=env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return found(), json.loads(done.stdout)


@pytest.mark.parametrize("name", ["scaled", "reduced"])
def test_captured_arrays_are_named_alike_and_only_embedded_ones_are_advised_against(name, both):
    embedding, hiding = (setting[name] for setting in both)
    assert embedding["answer"] == pytest.approx(hiding["answer"], rel=1e-12)
    assert embedding["captured_bytes"] == hiding["captured_bytes"] == TABLE.nbytes
    assert embedding["paths"] == hiding["paths"] == ["held"]
    kinds = ("embedded_bytes", "hidden_argument_bytes")
    assert [embedding[kind] for kind in kinds] == [TABLE.nbytes, 0]
    assert [hiding[kind] for kind in kinds] == [0, TABLE.nbytes]
    assert hiding["argument_bytes"] == embedding["argument_bytes"] + TABLE.nbytes
    assert "embedded in the program" in embedding["suggestions"][0] and not hiding["suggestions"]


def test_what_the_compiler_folded_is_computed_in_every_call_once_arrays_are_hidden(both):
    embedding, hiding = (setting["reduced"]["flops"] for setting in both)
    assert embedding < 10 and hiding >= TABLE.size


def test_another_value_makes_another_program_only_where_it_is_embedded(both):
    embedding, hiding = (setting["texts"] for setting in both)
    assert embedding[0] != embedding[1] and hiding[0] == hiding[1]


def test_hoisted_functions_neither_embed_nor_hide(both):
    assert [setting["hoisted"] for setting in both] == [[0, 0], [0, 0]]
