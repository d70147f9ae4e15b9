"""Options: tile sizes and their origin, memory, batches, donated fields, near weights, float32."""

import dataclasses
import os
import types
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vcjax
from benchmarks.workloads.casing import problem_named
from jaxmeter._program.jaxprs import sub_jaxprs
from tests.vcjax.common import casing_of, largest_error, small_torus
from vcjax import problems
from vcjax._options import Tiles, resolve_tiles, weights_bytes, weights_shortage

# Coarse grids and random fields are enough to compare results with each other.
pytestmark = pytest.mark.filterwarnings("ignore::vcjax.VcjaxWarning")


@pytest.fixture(autouse=True)
def no_variables(monkeypatch):
    for name in list(os.environ):
        if name.startswith("VCJAX_CHUNK_"):
            monkeypatch.delenv(name)


@pytest.fixture(scope="module")
def problem():
    """Return a problem with equal source and target grids, so that B can be donated."""
    return small_torus(**dict.fromkeys(("shape", "src_shape", "trg_shape"), (6, 20)))


@pytest.fixture(scope="module")
def casing(problem):
    return casing_of(problem, 3)


@pytest.mark.parametrize("operator", ["B", "BOFF", "GRADB"])
def test_an_argument_applies_first_and_then_the_most_specific_variable(operator, monkeypatch):
    name = f"VCJAX_CHUNK_{operator}"

    def found():
        return resolve_tiles("test", operator, "auto", "auto")

    auto = found()
    monkeypatch.setenv(name, " 300, 20 ")
    assert found() == Tiles(300, 20)
    monkeypatch.setenv(name, "70")
    assert found() == Tiles(70, 70)
    monkeypatch.setenv(f"{name}_TRG", "9")
    assert found() == Tiles(70, 9)
    assert resolve_tiles("test", operator, 5, "auto") == Tiles(5, 9)
    monkeypatch.delenv(name)
    assert found() == Tiles(auto.sources, 9)
    other = "B" if operator == "BOFF" else "BOFF"
    assert resolve_tiles("test", other, "auto", "auto").targets != 9


def test_config_shows_the_sizes_in_force_and_their_origin(monkeypatch):
    monkeypatch.setenv("VCJAX_CHUNK_B", "300,20")
    monkeypatch.setenv("VCJAX_CHUNK_GRADB_SRC", "40")
    shown = vcjax.config()
    assert shown.chunks["VCJAX_CHUNK_B_TRG"] == (20, "VCJAX_CHUNK_B")
    assert shown.chunks["VCJAX_CHUNK_GRADB_SRC"] == (40, "VCJAX_CHUNK_GRADB_SRC")
    assert shown.chunks["VCJAX_CHUNK_BOFF_SRC"].origin == "auto"
    assert shown.backend == jax.default_backend()
    assert "VCJAX_CHUNK_B_SRC      300    VCJAX_CHUNK_B\n" in str(shown)
    with pytest.raises(dataclasses.FrozenInstanceError):
        shown.backend = "other"  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("suffix", ["", "_SRC", "_TRG"])
@pytest.mark.parametrize(
    "text",
    [*"0 -3 many 1.5 1,2,3 , 4, \u00b2".split(), "9" * 12, pytest.param("9" * 5000, id="nines")],
)
def test_a_variable_that_is_no_size_is_named(casing, problem, monkeypatch, suffix, text):
    monkeypatch.setenv(f"VCJAX_CHUNK_B{suffix}", text)
    with pytest.raises(vcjax.VcjaxError, match=rf"external_field found VCJAX_CHUNK_B{suffix}='"):
        vcjax.external_field(casing, problem.B)
    with pytest.raises(vcjax.VcjaxError, match="config found"):
        vcjax.config()


def test_a_changed_variable_takes_effect_at_the_next_call(casing, problem, monkeypatch):
    plain = vcjax.external_field(casing, problem.B)
    monkeypatch.setenv("VCJAX_CHUNK_B", "63,7")
    # Trace a new function, because JAX keeps the traces of functions.
    program = str(jax.make_jaxpr(lambda *given: vcjax.external_field(*given))(casing, problem.B))
    assert ",3,7]" in program
    assert largest_error(vcjax.external_field(casing, problem.B), plain) < 1e-13


@pytest.mark.cpu
@pytest.mark.parametrize(
    "prepare, evaluate, most_mebibytes",
    [
        (vcjax.prepare, vcjax.external_field, 10),
        (vcjax.prepare_gradient, vcjax.external_gradient, 20),
    ],
)
def test_temporaries_take_at_most_10_mebibytes_for_fields_and_20_for_gradients(
    prepare, evaluate, most_mebibytes
):
    problem = problem_named("case_vc_large")
    casing = casing_of(problem, problem.digits, prepare)
    memory = jax.jit(evaluate).lower(casing, problem.B).compile().memory_analysis()
    assert memory is not None
    assert memory.temp_size_in_bytes <= most_mebibytes * 2**20


def test_a_batch_of_fields_shares_the_casing_and_the_kernel(casing, problem):
    rng = np.random.default_rng(0)
    fields = jnp.asarray(rng.normal(size=(7, *problem.B.shape)))
    batch = jax.vmap(vcjax.external_field, in_axes=(None, 0))
    each = jnp.stack([vcjax.external_field(casing, B) for B in fields])
    assert largest_error(batch(casing, fields), each) < 1e-13
    # For seven fields, no value is seven times as large as the near weights or the kernel.
    rule = casing.rule
    kernel = rule.period_rows * rule.quad_ntheta * rule.trg_shape[0] * rule.trg_shape[1]
    sizes = [*all_sizes(jax.make_jaxpr(batch)(casing, fields).jaxpr)]
    assert casing.near_weights.size in sizes
    assert max(sizes) < 7 * min(casing.near_weights.size, kernel)


def all_sizes(jaxpr):
    """Yield the sizes of all values in a program."""
    for equation in jaxpr.eqns:
        yield from (v.aval.size for v in (*equation.invars, *equation.outvars))
        for inner in sub_jaxprs(equation):
            yield from all_sizes(getattr(inner, "jaxpr", inner))


def test_a_donated_field_becomes_the_result(casing, problem):
    donating = jax.jit(vcjax.external_field, donate_argnums=1)
    B = jnp.array(problem.B)
    memory = donating.lower(casing, B).compile().memory_analysis()
    assert memory is not None and memory.alias_size_in_bytes == B.nbytes
    expected = vcjax.external_field(casing, problem.B)
    assert largest_error(donating(casing, B), expected) < 1e-13
    assert B.is_deleted()


KEPT = ["float64", "streamed"]


@pytest.fixture(
    scope="module",
    params=[
        (vcjax.prepare, vcjax.external_field),
        (vcjax.prepare_gradient, vcjax.internal_gradient),
    ],
    ids=["field", "gradient"],
)
def plain(request):
    """Return a problem, the functions that prepare and evaluate, a casing, and its result."""
    problem = small_torus(trg_shape=(2, 4))
    prepare, evaluate = request.param
    casing = casing_of(problem, 3, prepare)
    return problem, prepare, evaluate, casing, evaluate(casing, problem.B)


@pytest.mark.parametrize("kept", KEPT)
def test_blocks_and_streaming_of_weights_change_the_result_by_rounding_only(plain, kept):
    problem, prepare, evaluate, _, expected = plain
    casing = casing_of(problem, 3, prepare, near_weights=kept, near_block_size=3)
    assert (casing.near_weights is None) == (kept == "streamed")
    assert largest_error(evaluate(casing, problem.B), expected) < 1e-11


def test_weights_in_float32_take_half_the_memory_and_keep_six_digits(plain):
    problem, prepare, evaluate, casing, expected = plain
    rounded = casing_of(problem, 3, prepare, near_weights="float32")
    assert 2 * rounded.near_weights.nbytes == casing.near_weights.nbytes
    value = evaluate(rounded, problem.B)
    assert value.dtype == np.float64
    assert largest_error(value, expected) < 1e-6


@pytest.mark.parametrize(
    "prepare, kept", [(vcjax.prepare, 7), (vcjax.prepare_gradient, 4)], ids=["field", "gradient"]
)
def test_a_warning_says_if_float32_weights_lose_digits_of_the_rule(problem, prepare, kept):
    rule = dataclasses.replace(casing_of(problem, 3, prepare).rule, digits=kept)
    with warnings.catch_warnings(action="error", category=vcjax.AccuracyWarning):
        prepare(rule, problem.X, near_weights="float32")
    rule = dataclasses.replace(rule, digits=kept + 1)
    with pytest.warns(vcjax.AccuracyWarning, match=f"float32 keeps about {kept} digits"):
        prepare(rule, problem.X, near_weights="float32")


def test_streamed_weights_give_the_same_derivative_in_the_surface_as_stored_weights():
    problem = small_torus(trg_shape=(2, 4))
    rule = casing_of(problem, 3).rule
    X = jnp.asarray(problem.X)

    def slope(kept, constants):
        def field(X):
            casing = vcjax.prepare(rule, X, constants=constants, near_weights=kept)
            return vcjax.external_field(casing, problem.B)

        return jax.jvp(field, (X,), (X * X,))[1]

    slopes = [jax.jit(slope, static_argnums=0)(k, vcjax.tables(rule)) for k in KEPT]
    assert largest_error(slopes[1], slopes[0]) < 1e-10


@pytest.mark.parametrize(
    "options", [{"near_weights": "half"}, {"near_block_size": 0}, {"near_block_size": "few"}]
)
def test_invalid_options_of_near_weights_are_named(problem, options):
    with pytest.raises(vcjax.VcjaxError, match="prepare got near_"):
        casing_of(problem, 3, **options)


def test_weights_beyond_the_memory_cause_a_warning_and_then_an_error_with_their_size(problem):
    with pytest.warns(UserWarning, match="choose got 5000 x 5000 targets: the near weights need"):
        rule = vcjax.choose(problem.X, problem.B, 3, nfp=1, trg_nphi=5000, trg_ntheta=5000)
    with pytest.raises(vcjax.VcjaxError, match=r"need \d+(\.\d+)? GiB.*streamed"):
        vcjax.prepare(rule, problem.X)


def test_near_weights_are_compared_with_the_memory_of_all_accelerators(problem, monkeypatch):
    rule = vcjax.choose(problem.X, problem.B, 3, nfp=1)
    stats = {"bytes_limit": weights_bytes(rule, 4) // 3}
    device = types.SimpleNamespace(platform="gpu", memory_stats=lambda: stats)
    monkeypatch.setattr(jax, "local_devices", lambda: [device])
    assert "the 2 devices have" in weights_shortage("prepare", rule, 4, devices=2)
    assert weights_shortage("prepare", rule, 4, devices=4) == ""
    stats.clear()
    assert weights_shortage("prepare", rule, 4) == "", "the memory of the device is not known"


def test_a_far_field_in_float32_changes_the_result_by_less_than_5e_6_in_any_unit():
    problem = problems.rotating_ellipse(5)
    rule = vcjax.choose(problem.X, problem.B, 5, nfp=4, half_period=True, trg_nphi=2, trg_ntheta=8)
    for length, size in [(1.0, 1.0), (1e-9, 1e-9), (1e13, 1e-35), (1e-12, 1e37), (1.0, 1e-18)]:
        casing, B = vcjax.prepare(rule, length * problem.X), size * problem.B
        expected = vcjax.external_field(casing, B)
        value = vcjax.external_field(casing, B, far_dtype="auto")
        assert value.dtype == np.float64
        assert 0 < np.abs(value - expected).max() < 5e-6 * np.abs(B).max(), (length, size)


@pytest.mark.parametrize("size", [1e-18, 1.0, 1e17])
def test_derivatives_of_a_far_field_in_float32_keep_four_digits(size):
    problem = problems.rotating_ellipse(4)
    rule = vcjax.choose(problem.X, problem.B, 4, nfp=4, half_period=True, trg_nphi=2, trg_ntheta=4)
    casing, B = vcjax.prepare(rule, problem.X), jnp.asarray(size * problem.B)

    def slope(far_dtype):
        return jax.grad(
            lambda B: (vcjax.external_field(casing, B, far_dtype=far_dtype) ** 2).sum()
        )(B)

    expected, value = slope("float64"), slope("float32")
    assert np.abs(value - expected).max() < 1e-4 * np.abs(expected).max()


def test_a_far_field_in_float32_is_refused_and_auto_means_float64_beyond_five_digits(problem):
    rule = vcjax.choose(problem.X, problem.B, 6, nfp=1)
    casing = vcjax.prepare(rule, problem.X)
    with pytest.raises(vcjax.VcjaxError, match='far_dtype="float32" for a quadrature of 6'):
        vcjax.external_field(casing, problem.B, far_dtype="float32")
    precise = vcjax.external_field(casing, problem.B)
    assert (vcjax.external_field(casing, problem.B, far_dtype="auto") == precise).all()


def test_an_unknown_precision_is_named(casing, problem):
    with pytest.raises(vcjax.VcjaxError, match="internal_field got far_dtype='half'"):
        vcjax.internal_field(casing, problem.B, far_dtype="half")
