"""The replacement for `virtual_casing_jax`: names, keywords, and the fields of `VirtualCasing`."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.vcjax.common import flat, surface
from tests.vcjax.interfaces.common import DIGITS, set_up
from vcjax import AccuracyWarning, UnresolvedWarning, VcjaxError, problems
from vcjax.interfaces import VirtualCasingJAX, build_offsurface_levels


def test_jax_names_give_the_same_fields_as_the_flat_interface(problem, casing, named, B):
    external = casing.compute_external_B(flat(problem.B)).reshape(3, 4, 6)
    for call in (named.compute_external_B, named.compute_external_B_jit):
        np.testing.assert_array_equal(call(B), external)
    np.testing.assert_array_equal(named.compute_external_B(flat(problem.B)), external)
    internal = casing.compute_internal_B(flat(problem.B)).reshape(3, 4, 6)
    np.testing.assert_array_equal(named.compute_internal_B_jit(B), internal)
    np.testing.assert_array_equal(named.get_normal().ravel(), casing.get_normal())
    batch = named.compute_external_B_batch(jnp.stack([B, -2 * B]))
    # The sums of a batch are taken in another order.
    rounding = 1e-12 * np.abs(problem.B).max()
    np.testing.assert_allclose(batch, [external, -2 * external], rtol=0, atol=rounding)


def test_jax_names_give_the_same_gradients_as_the_flat_interface(problem, casing, named, B):
    external = named.compute_external_gradB_jit(B, hedgehog_order=8)
    expected = casing.compute_external_gradB(flat(problem.B)).reshape(3, 3, 4, 6)
    np.testing.assert_array_equal(external, expected)
    internal = named.compute_internal_gradB_jit(B)
    known = problems.magnetic_field_gradient(problem.inside, surface(problem, 4, 6).reshape(-1, 3))
    error = np.abs(internal.reshape(3, 3, 24) - known.transpose(2, 1, 0)).max()
    # The error is relative to the largest gradient of the total field.
    assert error <= 10.0**-DIGITS * np.abs(external + internal).max()
    expected = casing.compute_internal_gradB(flat(problem.B)).reshape(3, 3, 4, 6)
    np.testing.assert_array_equal(internal, expected)


def test_off_surface_gradients_have_their_digits_where_the_data_determine_them(
    problem, named, points, B
):
    near = points[[0, 12]]  # inside and outside
    everything, on = (*problem.outside, *problem.inside), surface(problem, 4, 6).reshape(-1, 3)
    largest = np.abs(problems.magnetic_field_gradient(everything, on)).max()
    for part, index in (("external", 0), ("internal", 1)):
        call = getattr(named, f"compute_{part}_gradB_offsurf")
        value, estimate = call(B, X_trg=near.T, return_estimate=True)
        sources = problem.outside if part == "external" else problem.inside
        known = problems.magnetic_field_gradient(sources, near[index : index + 1])[0]
        # `known` has the index order [i, k], and `value` has [k, i].
        error = np.abs(value[:, :, index] - known.T).max()
        assert error <= estimate[index] * np.abs(problem.B).max()
        assert error <= 10.0**-DIGITS * largest
        assert np.isnan(value[:, :, 1 - index]).all()


def test_jax_names_off_the_surface_agree_with_the_flat_interface(off_surface, named, points, B):
    external, estimate = named.compute_external_B_offsurf_schedule(
        B, X_trg=points.T, levels="auto", return_estimate=True
    )
    np.testing.assert_array_equal(external, off_surface["external"].T)
    assert estimate.shape == (18,) and np.nanmax(estimate) < 0.1
    levels = build_offsurface_levels(24, 12, max_Nt=100)
    internal = named.compute_internal_B_offsurf_schedule_jit(B, X_trg=points.T, levels=levels)
    np.testing.assert_array_equal(internal, off_surface["internal"].T)


def test_keywords_change_the_storage_of_near_weights_but_not_the_field(problem, named, B):
    external, scale = named.compute_external_B(B), np.abs(problem.B).max()
    # No weights are stored, so the precision of weights has no effect.
    knobs = dict(scan_targets=True, patch_dtype="float32", interp_block_size=None)
    knobs |= dict(pou_dtype="float32", remat=True, chunk_size=None, target_chunk_size=7)
    streamed = named.compute_external_B(B, **knobs)
    assert np.abs(streamed - external).max() < 1e-12 * scale
    held = named._setup._held
    on_surface = [casing for (_, kind, *_), casing in held.items() if kind == "field"]
    assert {casing.near_weights is None for casing in on_surface} == {True, False}
    named.compute_external_B(B, patch_dtype="float32")
    *_, last = held.values()
    assert last.near_weights.dtype == np.float32
    count = len(held)
    named.compute_external_B(B)
    assert len(held) == count


def test_a_donated_field_gives_the_same_answer():
    problem = problems.axisymmetric(2, src_shape=(4, 16), trg_shape=(4, 16))
    casing = set_up(VirtualCasingJAX(), problem, digits=2)
    B = jnp.moveaxis(jnp.asarray(problem.B), -1, 0)
    donated = casing.compute_external_B_jit(B, donate=True)
    assert problem.external_error(jnp.moveaxis(donated, 0, -1)) < 1e-2
    assert B.is_deleted()
    # A field in single precision is converted first. A NumPy array is not changed.
    single = jnp.moveaxis(jnp.asarray(problem.B, dtype=np.float32), -1, 0)
    again = casing.compute_external_B(single, donate=True)
    assert jnp.abs(again - donated).max() < 1e-6 * np.abs(problem.B).max()
    own = np.moveaxis(problem.B, -1, 0).copy()
    np.testing.assert_array_equal(casing.compute_external_B(own, donate=True), donated)
    np.testing.assert_array_equal(own, np.moveaxis(problem.B, -1, 0))


def test_fields_and_surfaces_may_be_traced(problem, named, B):
    """Trace only, because test_differentiation.py tests compiled derivatives of `vcjax`."""
    # Without a field, the quadrature resolves every field on the source grid.
    plan, finest = named.plan_precision(B0=B), named.plan_precision()
    assert finest.quad_ntheta >= plan.quad_ntheta

    def loss(X, B, **planned):
        casing = VirtualCasingJAX()
        casing.setup(DIGITS, problem.nfp, True, 10, 20, X, 15, 75, 4, 6)
        return (casing.compute_external_B(B, **planned) ** 2).sum()

    X = jnp.moveaxis(jnp.asarray(problem.X), -1, 0)
    shapes = jax.eval_shape(jax.grad(partial(loss, precision=plan), (0, 1)), X, B)
    assert [shape.shape for shape in shapes] == [X.shape, B.shape]
    if jax.__version_info__ < (0, 8):
        with pytest.raises(VcjaxError, match="compute_external_B was called inside a traced"):
            jax.eval_shape(named.compute_external_B, B)
    else:
        assert jax.eval_shape(named.compute_external_B, B).shape == (3, 4, 6)
    with pytest.raises(VcjaxError, match="plan_precision"):
        jax.eval_shape(lambda X: loss(X, B), X)


@pytest.mark.parametrize(
    "knobs, said",
    [
        (dict(quad_nt=100), "compute_external_B got quad_nt=100; leave quad_nt out"),
        (dict(X_trg=np.zeros((3, 2))), "call the method with _offsurf"),
        (dict(patch_idx=[1]), "patch_idx"),
        (dict(chunks=3), "got unknown keywords: chunks"),
        (dict(chunk_size=0), "compute_external_B got chunk_size=0"),
        (dict(return_estimate=True), "return_estimate=True, which only the methods with _offsurf"),
        (dict(max_Nt=80), "max_Nt=80, which only the methods with _offsurf"),
        (dict(max_Np="many"), "compute_external_B got max_Np='many'"),
        (dict(patch_dtype="float16"), "patch_dtype='float16'; give"),
        (dict(patch_dtype="banana"), "patch_dtype='banana'; give"),
        (dict(patch_dtype=np.zeros(3)), "patch_dtype=array"),
        (dict(interp_block_size=[4]), r"compute_external_B got interp_block_size=\[4\]"),
        (dict(interp_block_size="few"), "compute_external_B got interp_block_size='few'"),
        (dict(precision=[3]), "compute_external_B got precision of type list"),
        (dict(digits=[3]), r"compute_external_B got digits=\[3\]"),
        (dict(scan_targets="yes"), "scan_targets='yes'; give True or False"),
        (dict(donate=1), "donate=1; give True or False"),
    ],
)
def test_unknown_invalid_and_inapplicable_keywords_are_refused(named, B, knobs, said):
    with pytest.raises(VcjaxError, match=said):
        named.compute_external_B(B, **knobs)


def test_warnings_about_storage_name_the_keywords_of_virtual_casing_jax():
    problem = problems.axisymmetric(8)
    torus = set_up(VirtualCasingJAX(), problem, 1, 2, digits=8)
    said = '^compute_internal_B got patch_dtype="float32" for .* or scan_targets=True to save'
    with pytest.warns(AccuracyWarning, match=said):
        torus.compute_internal_B(flat(problem.B), patch_dtype="float32")


def test_arrays_with_components_last_are_refused(problem, named):
    with pytest.raises(VcjaxError, match=r"B0 of shape \(15, 75, 3\); give \(3, 15, 75\)"):
        named.compute_external_B(problem.B)
    with pytest.raises(VcjaxError, match=r"X_trg of shape \(5, 3\); give \(3, n\) or \(3 n,\)"):
        named.compute_external_B_offsurf(flat(problem.B), X_trg=np.zeros((5, 3)))


def test_methods_have_the_names_that_are_called(named):
    for name in (
        "compute_external_B",
        "compute_internal_gradB_batch",
        "compute_external_B_offsurf",
    ):
        assert getattr(named, name).__qualname__ == f"VirtualCasingJAX.{name}"


def test_max_Nt_and_max_Np_cap_the_off_surface_grid(named, points, B):
    """Check only that caps are passed on: other tests check `choose_off_surface` with caps."""
    with pytest.raises(VcjaxError, match="compute_external_B_offsurf got max_Np=0"):
        named.compute_external_B_offsurf(B, X_trg=points.T, max_Np=0)
    said = "compute_external_B_offsurf got max_Nt={}, max_Np=None"
    with pytest.raises(VcjaxError, match=said.format(24)):
        named.compute_external_B_offsurf(B, X_trg=points.T, max_Nt=24, max_Np=-1)
    with pytest.warns(UnresolvedWarning, match=said.format(80)):
        named.compute_external_B_offsurf(B, X_trg=points.T, max_Nt=80)


def test_levels_are_doubled_up_to_the_limits_as_in_virtual_casing_jax():
    levels = (24, 12), (48, 24), (96, 48), (100, 96), (100, 192), (100, 384)
    assert build_offsurface_levels(24, 12, max_Nt=100) == levels
    assert build_offsurface_levels(24, 12, max_Nt=100, max_Np=96) == levels[:4]


@pytest.mark.parametrize(
    "arguments, said",
    [
        ((0, -1), "got nt0=0"),
        ((10, 20, 5), r"got a first grid \(10, 20\) above the limits max_Nt=5"),
        ((10, 20, 0), "got max_Nt=0"),
        ((10, 20, -1, -1, 0), "got max_levels=0"),
    ],
)
def test_bad_levels_are_refused(arguments, said):
    with pytest.raises(VcjaxError, match=f"^build_offsurface_levels {said}"):
        build_offsurface_levels(*arguments)


def test_bad_fields_and_fields_before_the_set_up_are_refused(problem, named, B):
    fields = jnp.stack([B, B])
    for call, given, said in (
        (named.compute_external_B, B.astype(complex), "compute_external_B got B0 .* complex128"),
        (named.compute_internal_B, problem.B.ravel(), "compute_internal_B got B0 point by point"),
        (VirtualCasingJAX().compute_external_B, B, "compute_external_B got no surface yet"),
        (named.compute_external_B_batch, fields[:0], "batch got an empty B0_batch"),
        (named.compute_external_B_batch, 3.0, r"batch got B0 of shape \(\)"),
        (named.compute_external_B_batch, fields.at[1].set(jnp.nan), "batch got B0 with NaN"),
        (named.compute_internal_gradB, jnp.full_like(B, jnp.inf), "gradB got B0 with .* infinite"),
        (lambda B0: named.plan_precision(B0=B0), jnp.full_like(B, jnp.nan), "got B0 with NaN"),
    ):
        with pytest.raises(VcjaxError, match=said):
            call(given)


def test_the_external_part_of_a_zero_field_is_zero(named, points, B):
    assert not np.asarray(named.compute_external_B(0 * B)).any()
    value = np.asarray(named.compute_external_B_offsurf(0 * B, X_trg=points.T))
    assert (value[:, :6] == 0).all() and np.isnan(value[:, 6:]).all()


def test_rules_for_other_targets_and_rules_given_for_gradients_are_refused(problem, named, B):
    rule = set_up(VirtualCasingJAX(), problem, 5, 7).plan_precision()
    with pytest.raises(VcjaxError, match=r"got precision= with trg_shape=\(5, 7"):
        named.compute_external_B(B, precision=rule)
    with pytest.raises(VcjaxError, match="^compute_external_gradB got precision=, which is for"):
        named.compute_external_gradB(B, precision=rule)
