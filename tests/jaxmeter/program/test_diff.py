"""Two programs are compared by their operations; only the differences are shown."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxmeter
from jaxmeter import Case, Fusion, Inventory, ProgramDiff

W, X = jnp.ones((64, 64)), jnp.ones(64)
TABLE = jnp.asarray(np.random.default_rng(0).normal(size=64))


def step(w, x):
    with jax.named_scope("layer"):
        return jnp.exp(jnp.sin(w @ x) * 2.0)


@pytest.fixture(scope="module")
def added():
    return jaxmeter.diff(step, lambda w, x: jnp.tanh(step(w, x)), W, X)


def changed(changes):
    return {change.name: (change.before, change.now) for change in changes}


def test_equal_programs_have_one_fingerprint_and_no_differences():
    def renamed(w, x):
        with jax.named_scope("other"):
            return jnp.exp(jnp.sin(w @ x) * 2.0)

    found = jaxmeter.diff(step, renamed, W, X)
    assert found == ProgramDiff("step", "renamed", same=True, values=True)
    assert jaxmeter.table(found) == "step -> renamed: the same optimised program"


def test_programs_that_differ_only_in_names_of_instructions_are_the_same():
    def as_column(w, x):
        return jnp.tanh((w @ x[:, None])[:, 0])

    fns = [lambda w, x: jnp.tanh(w @ x), as_column]
    before, now = (jax.jit(fn).lower(W, X).compile() for fn in fns)
    assert jaxmeter.diff(before, now).same


def test_programs_with_different_captured_values_are_not_the_same():
    other = jnp.cos(TABLE)
    found = jaxmeter.diff(lambda x: x + TABLE, lambda x: x + other, X)
    assert (found.same, found.values) == (False, False)
    assert found == ProgramDiff.from_json(found.to_json())
    assert jaxmeter.table(found) == ("<lambda> -> <lambda>: the same except for captured values")


def test_an_operation_that_the_compiler_removes_changes_at_most_the_jaxpr():
    found = jaxmeter.diff(step, lambda w, x: (step(w, x), jnp.cos(w))[0], W, X)
    assert found.same
    assert changed(found.primitives) == {} or changed(found.primitives) == {"cos": (0, 1)}
    assert found.opcodes == found.fusions == ()


@pytest.mark.cpu
def test_an_added_operation_is_shown_in_the_jaxpr_the_hlo_the_sizes_and_the_fusions(added):
    assert added.same is False
    assert changed(added.primitives) == {"tanh": (0, 1)}
    assert changed(added.opcodes) == {"tanh": (0, 1)}
    (line,) = added.lines
    assert line.before is None and line.line.file == "test_diff.py"
    assert line.line.text.startswith("return jaxmeter.diff(step, lambda w, x: jnp.tanh")
    assert (line.equations_change, line.bytes_change) == (1, X.nbytes)
    sizes = changed(added.sizes)
    assert sizes["jaxpr equations"] == (4, 5)
    assert sizes["HLO instructions"][1] - sizes["HLO instructions"][0] == 1
    assert "output bytes" not in sizes and "captured bytes" not in sizes
    (fusion,) = added.fusions
    assert fusion.kind == "changed"
    before, now = fusion.before[0], fusion.now[0]
    assert before.operations == ("sine layer/sin", "multiply layer/mul", "exponential layer/exp")
    assert now.operations == (*before.operations, "tanh tanh")
    assert before.shape == "f64[64]"


@pytest.mark.cpu
@pytest.mark.skipif(
    jax.__version_info__ < (0, 8), reason="older compilers make no fusion of one operation"
)
def test_split_and_merged_fusions_are_shown_with_both_parts():
    def split(w, x):
        with jax.named_scope("layer"):
            return jnp.exp(w @ (jnp.sin(w @ x) * 2.0))

    found = jaxmeter.diff(step, split, W, X)
    (fusion,) = found.fusions
    assert fusion.kind == "split"
    assert {part.operations for part in fusion.now} == {
        ("sine layer/sin", "multiply layer/mul"),
        ("exponential layer/exp",),
    }
    assert changed(found.opcodes)["dot"] == (1, 2)
    (back,) = jaxmeter.diff(split, step, W, X).fusions
    assert (back.kind, set(back.before), back.now) == ("merged", set(fusion.now), fusion.before)


def test_a_captured_array_changes_the_bytes_and_the_constants():
    found = jaxmeter.diff(step, lambda w, x: step(w, x) + TABLE, W, X)
    assert changed(found.arrays) == {"f64[64]": (0, 1)}
    sizes = changed(found.sizes)
    assert sizes["captured bytes"] == sizes["embedded bytes"] == (0, 512)


def test_fusions_are_grouped_by_the_operations_that_they_share():
    def fusion(*operations):
        return Fusion("kLoop", "f64[3]", operations)

    def kinds(before, now):
        programs = (Inventory("step", "", fusions=fusions) for fusions in (before, now))
        changes = jaxmeter.diff(*programs).fusions
        return {change.kind: (len(change.before), len(change.now)) for change in changes}

    ab, a, b, c, d = (fusion(*names) for names in ("ab", "a", "b", "c", "d"))
    assert kinds((ab, c), (c, ab)) == {}
    assert kinds((ab,), (a, b)) == {"split": (1, 2)}
    assert kinds((a, b, c), (ab, d)) == {"merged": (2, 1), "vanished": (1, 0), "appeared": (0, 1)}
    assert kinds((fusion("a", "b"), fusion("c", "d")), (fusion("b", "c"), fusion("d", "a"))) == {
        "regrouped": (2, 2)
    }
    assert kinds((a, a), (a,)) == {"vanished": (1, 0)}


def test_records_compiled_programs_and_stored_inventories_can_be_compared():
    stored = Inventory.from_json(jaxmeter.inventory(step, W, X).to_json())
    compiled = jax.jit(step).lower(W, X).compile()
    record = jaxmeter.measure(step, W, X, repeat=1)
    for other in (stored, compiled, record, Case(step, (W, X))):
        assert jaxmeter.diff(stored, other).same
        assert jaxmeter.diff(other, stored).sizes == ()
    failed = jaxmeter.Record("failed", "failed")
    found = jaxmeter.diff(failed, record)
    assert found.same is None and found.sizes == ()
    assert "no known difference" in jaxmeter.table(found)


def test_arguments_may_be_shapes_and_operations_within_a_loop_are_counted():
    def loop(x):
        return jax.lax.fori_loop(0, 3, lambda _, y: jnp.sin(y), x)

    found = jaxmeter.inventory(loop, jax.ShapeDtypeStruct((4,), "float64"))
    assert found.primitives is not None and found.primitives["sin"] == 1
    assert found.opcodes is not None and found.opcodes["sine"] >= 1


def test_different_versions_of_jax_are_shown():
    now = jaxmeter.inventory(step, W, X)
    found = jaxmeter.diff(dataclasses.replace(now, jax="0.1"), now)
    assert found.versions == ("0.1", jax.__version__)
    assert "with JAX 0.1 and" in jaxmeter.table(found)


@pytest.mark.cpu
def test_a_diff_renders_and_survives_json(added):
    assert ProgramDiff.from_json(added.to_json()) == added
    text = jaxmeter.table(added)
    assert text.startswith("step -> <lambda>: different programs\n  quantity ")
    assert "  HLO: tanh              0    1  appeared" in text
    assert "      + sine, multiply, exponential, tanh -> f64[64] in layer" in text
    markdown = jaxmeter.markdown(added)
    assert "| jaxpr: `tanh` | 0 | 1 | appeared |" in markdown
    rows = [line for line in markdown.splitlines() if line.startswith("| changed")]
    assert rows == [
        "| changed | - `sine, multiply, exponential -> f64[64] in layer`<br>"
        "+ `sine, multiply, exponential, tanh -> f64[64] in layer` |"
    ]
    assert "fusion       sine, multiply, exponential -> f64[64] in layer" in jaxmeter.table(
        jaxmeter.inventory(step, W, X)
    )
