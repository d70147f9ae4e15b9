"""The coronagraph's variants at 16 pixels a side: frames, hidden arrays, the cost of a change."""

import functools
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

import jaxmeter
from benchmarks.cases import closure, field
from benchmarks.cases.closure import VARIANTS
from benchmarks.workloads import coronagraph
from benchmarks.workloads.coronagraph import Frame
from jaxmeter._capture.constants import count_constants

# The smallest sizes do not resolve B.
pytestmark = pytest.mark.filterwarnings("ignore::vcjax.UnresolvedWarning")

SIZE = 16


@pytest.fixture(scope="module")
def handed_on(tmp_path_factory):
    """Store the results of a preparation where the cases of the tests read them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VCJAX_BENCH_SCRATCH", str(tmp_path_factory.mktemp("scratch")))
        # A system takes seconds to make, so all tests share it.
        patch.setattr(coronagraph, "system", functools.cache(coronagraph.system))
        case = closure.preparation(size=SIZE)
        assert case.check is not None
        # The variant "argument" has the same function, which is compiled once for all tests.
        frame = jax.jit(coronagraph.frame)(*case.args)
        dark = jnp.zeros((SIZE, SIZE), jnp.float32)
        case.check((frame, coronagraph.RateMaps(dark, dark, dark, dark)))
        yield


def test_the_audit_names_both_hidden_tables_with_path_and_line(handed_on):
    audit = jaxmeter.audit(closure.frame_to_audit(SIZE))
    found = {array.shape: array for array in audit.arrays}
    table, kepler = found[(324, SIZE, SIZE)], found[(2, 513, 2049)]
    assert table.path == "closure of system.coronagraph.off_axis.function: table.images"
    assert kepler.path == "closure of system.planets.solve_kepler.function: table.values"
    for array, file, text in (
        (table, "point_images.py", "self.images[nearest]"),
        (kepler, "kepler.py", "self.values[:,"),
    ):
        assert array.embedded_count == 1 and array.verdict == "large"
        assert array.argument == "system"
        (use,) = array.uses
        assert use.file.endswith(f"coronagraph/{file}") and text in use.text
        assert text in Path(use.file).read_text().splitlines()[use.line - 1]
    assert "a leaf of the argument system" in audit.suggestions[0]


@pytest.mark.parametrize("variant", sorted(set(VARIANTS) - {"simplified"}))
def test_a_variant_captures_the_bytes_of_its_arrays(handed_on, variant):
    case = closure.frame(size=SIZE, variant=variant)
    arrays = count_constants(jax.jit(case.fn).trace(*case.args).jaxpr).arrays
    # JAX's random numbers have a table of ten numbers (binomial) and, in JAX 0.7, a table of four.
    tables = {(10,)} if jax.__version_info__ >= (0, 8) else {(10,), (4,)}
    captured = sum(array.bytes for array in arrays if array.shape not in tables)
    expected = {
        "closure": case.extras["system_bytes"],
        "argument": 0,
        "hoisted": 8 * 4,  # eight scalars are not hoisted
        "cached": 2 * 4 * SIZE**2,
        "static_callable": 4 * (324 * SIZE**2 + 324 * 2 + 2 * 513 * 2049),
    }
    assert captured == expected[variant]


def test_a_change_of_the_cube_recompiles_the_closure_and_not_the_argument_variant(
    handed_on, monkeypatch
):
    monkeypatch.setattr(closure, "PUBLISHED", ())  # another test runs a script
    results = {}
    for variant in ("closure", "argument"):
        case = closure.changed(size=SIZE, variant=variant)
        assert case.check is not None
        results[variant] = case.check(case.fn(*case.args))
        assert results[variant]["rate_difference_relative"] <= 1e-5
    assert results["argument"]["change_compiles_count"] == 0
    assert results["argument"]["change_follows_count"] == 1
    assert results["closure"]["change_compiles_count"] == 1
    assert results["closure"]["change_follows_count"] == 0


def test_a_script_is_traced_once_and_reports_the_seconds_of_every_call():
    traced = []

    def summed(x):
        traced.append(x)
        return Frame(x, jnp.sum(x))

    case = jaxmeter.Case(summed, (jnp.ones(8),))
    for times in (1, 2):  # JAX traces the second script too: it is another function
        seconds = closure._as_a_script(case)
        assert list(seconds) == [f"script_call_{call:02}_seconds" for call in range(21)]
        assert min(seconds.values()) > 0 and len(traced) == times


def test_a_frame_that_differs_is_refused(handed_on):
    case = closure.frame(size=SIZE, variant="argument")
    assert case.check is not None
    counts, rate = jnp.ones((SIZE, SIZE), jnp.int32), jnp.ones((SIZE, SIZE))
    with pytest.raises(closure.WrongAnswer, match="rates differ from .* limit is 1e-05"):
        case.check(closure.Frame(counts, rate))
    with pytest.raises(closure.WrongAnswer, match="differ from the expected rates by nan"):
        case.check(closure.Frame(counts, jnp.nan * rate))


def test_variants_of_the_casing_capture_their_arrays_and_give_the_same_field():
    fields, captured = {}, {}
    small = 0.0
    for variant in ("argument", "cached", "hoisted", "static_callable"):
        options = {"workload": "case_vc", "digits": 3, "half_period": False}
        case = field.external_field(**options, variant=variant)
        jitted = jax.jit(case.fn)
        arrays = count_constants(jitted.trace(*case.args).jaxpr).arrays
        captured[variant] = sum(array.bytes for array in arrays)
        fields[variant] = jitted(*case.args)
        if variant == "argument":
            small = sum(getattr(case.args[0], n).nbytes for n in field.SMALL_ARRAYS)
    assert captured["argument"] == captured["hoisted"] == 0
    assert 0 < captured["cached"] == small < captured["static_callable"]
    assert captured["static_callable"] == case.extras["casing_bytes"]
    for found in fields.values():
        assert jnp.abs(found - fields["argument"]).max() <= 1e-12


@pytest.mark.parametrize(
    "variant, message", [("embedded", "give one of"), ("simplified", "are off")]
)
def test_an_unknown_or_unavailable_variant_is_refused(variant, message):
    with pytest.raises(ValueError, match=message):
        closure.frame(size=SIZE, variant=variant)
