"""Casings, rules, tables and fields that do not belong together cause a VcjaxError."""

import copy
import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vcjax
from tests.vcjax.common import largest_error, section
from vcjax import VcjaxError


def test_preparing_gradients_with_a_rule_for_fields_causes_a_warning(torus, rule):
    message = "prepare_gradient got a rule chosen for fields.*gradient=True"
    with pytest.warns(vcjax.UnresolvedWarning, match=message):
        vcjax.prepare_gradient(rule, torus.X)


def test_a_gradient_off_the_surface_from_a_rule_for_fields_causes_a_warning(torus):
    rule = vcjax.choose_off_surface(torus.X, torus.B, 1, nfp=1)
    casing = vcjax.prepare_off_surface(rule, torus.X)
    message = "gradient_at got a rule chosen for fields.*choose_off_surface.*gradient=True"
    # Warnings are errors here, so nothing is evaluated.
    with pytest.raises(vcjax.UnresolvedWarning, match=message):
        vcjax.gradient_at(casing, torus.B, torus.X[0, :1])


_SPOILT = {
    "single precision": lambda leaf: leaf.astype(np.float32),
    "complex": lambda leaf: leaf.astype(complex),
    "integers": lambda leaf: leaf.astype(int),
    "a batch": lambda leaf: jnp.stack([leaf, leaf]),
    "half of it": lambda leaf: leaf[: len(leaf) // 2 + 1, ..., : leaf.shape[-1] // 2],
}


@pytest.mark.parametrize("name", _SPOILT)
def test_a_casing_with_other_arrays_is_refused(torus, casing, gradient_casing, name):
    for call, whole in (
        (vcjax.external_field, casing),
        (vcjax.internal_field, casing),
        (vcjax.external_gradient, gradient_casing),
        (vcjax.internal_gradient, gradient_casing),
        (vcjax.error_estimate, casing),
        (vcjax.error_estimate, gradient_casing),
    ):
        with pytest.raises(VcjaxError, match="got a casing"):
            call(jax.tree.map(_SPOILT[name], whole), torus.B)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda c: dict(field_theta=c.field_theta.astype(np.float32)), "arrays of dtype float32"),
        (lambda c: dict(near_weights=c.near_weights.astype(np.float16)), "arrays of dtype float16"),
        (lambda c: dict(near_weights=c.near_weights[..., 1:]), "near_weights .* its rule needs"),
        (lambda c: dict(near_weights=c.near_weights[:, :, 1:]), "near_weights .* its rule needs"),
        (lambda c: dict(near_weights=c.near_weights[:1]), "near_weights .* its rule needs"),
        (lambda c: dict(near_weights=None), "near_weights of shape None, but its rule needs"),
        (lambda c: dict(rule=dataclasses.replace(c.rule, patch_theta=6)), ".* its rule needs"),
        (lambda c: dict(rule=dataclasses.replace(c.rule, src_shape=(4, 22))), ".* its rule needs"),
    ],
)
def test_a_casing_with_one_attribute_replaced_is_refused(torus, casing, change, message):
    other = dataclasses.replace(casing, **change(casing))
    with pytest.raises(VcjaxError, match=f"^external_field got a casing with {message}"):
        vcjax.external_field(other, torus.B[:, : other.rule.src_shape[1]])


def test_casings_and_rules_of_the_wrong_type_are_refused(torus, casing, gradient_casing):
    other: Any
    for call, other, message in (
        (vcjax.external_field, gradient_casing, "vcjax.prepare"),
        (vcjax.internal_field, gradient_casing, "vcjax.prepare"),
        (vcjax.external_gradient, casing, "vcjax.prepare_gradient"),
        (vcjax.internal_gradient, casing, "vcjax.prepare_gradient"),
        (vcjax.external_field, casing.rule, "vcjax.prepare"),
        (vcjax.external_gradient, None, "vcjax.prepare_gradient"),
        (vcjax.error_estimate, torus, "vcjax.prepare"),
        (lambda casing, B: vcjax.self_test(casing), torus, "vcjax.prepare"),
        (lambda rule, B: vcjax.prepare(rule, torus.X), 3, "vcjax.choose"),
        (lambda rule, B: vcjax.tables(rule), 3, "vcjax.choose"),
    ):
        with pytest.raises(VcjaxError, match=f"make a (casing|rule) with {message}"):
            call(other, torus.B)


def test_tables_of_another_rule_kind_or_precision_are_refused(torus, rule):
    # The shapes are the same, so only the numbers would be wrong.
    other = dataclasses.replace(rule, cutoff=rule.cutoff + 0.1)
    with pytest.raises(VcjaxError, match="^prepare got constants of another rule"):
        vcjax.prepare(rule, torus.X, constants=vcjax.tables(other))
    for call, make, wrong in (
        (vcjax.prepare, vcjax.tables, vcjax.gradient_tables),
        (vcjax.prepare_gradient, vcjax.gradient_tables, vcjax.tables),
    ):
        # In 32-bit mode, the tables have this dtype.
        rounded: Any = jax.tree.map(lambda leaf: leaf.astype(np.float32), make(rule))
        constants: Any
        for constants, message in (
            (wrong(rule), rf"of type .*vcjax.{make.__name__}\(rule\)"),
            (rounded, "with arrays of dtype float32"),
        ):
            with pytest.raises(VcjaxError, match=f"^{call.__name__} got constants {message}"):
                call(rule, torus.X, constants=constants)


def test_casings_and_tables_are_compared_by_identity(rule, casing, gradient_casing):
    for whole in (casing, gradient_casing, vcjax.tables(rule), vcjax.gradient_tables(rule)):
        assert whole == whole and hash(whole) == hash(whole)
        assert whole != copy.copy(whole)


_UNFIT = [
    dict(trg_shape=(3, 7)),
    dict(quad_nphi=49),
    dict(quad_ntheta=33),
    dict(angular_count=42),
    dict(lagrange_count=9),
    dict(patch_phi=60),
    dict(nfp=5),
]


@pytest.mark.parametrize(
    "change",
    [
        *(dict(nfp=nfp) for nfp in (0, 1.0)),
        *(dict(src_shape=shape) for shape in ((4, 0), [4, 24])),
        *(dict(radial_count=count) for count in (0, 2)),
        *(dict(cutoff=cutoff) for cutoff in (float("nan"), 0.0, 1e9, "3", 9.0)),
        dict(half_period=1),
        dict(trg_shape=(16,)),
        dict(quad_nphi=True),
        dict(margin=-1),
        dict(core_count=-1),
        *_UNFIT,
    ],
    ids=str,
)
def test_a_rule_with_invalid_values_is_refused_when_it_is_made_and_when_it_is_used(
    torus, rule, change
):
    unfit = "sizes that do not fit together" if change in _UNFIT else ""
    with pytest.raises(VcjaxError, match=f"^Rule got {unfit}"):
        dataclasses.replace(rule, **change)
    edited = copy.copy(rule)
    for name, value in change.items():
        object.__setattr__(edited, name, value)
    for call in (vcjax.prepare, vcjax.prepare_gradient):
        with pytest.raises(
            VcjaxError, match=f"^{call.__name__} got .*Make rules with vcjax.choose"
        ):
            call(edited, torus.X)
    with pytest.raises(VcjaxError, match="^tables got "):
        vcjax.tables(edited)


def test_rules_for_points_on_and_off_the_surface_are_refused_in_place_of_each_other(torus, rule):
    off = vcjax.choose_off_surface(torus.X, torus.B, 3, nfp=1)
    for call in (vcjax.prepare, vcjax.prepare_gradient):
        with pytest.raises(VcjaxError, match=f"^{call.__name__} got a rule for points off the"):
            call(off, torus.X)
    for call, arguments in (
        (vcjax.prepare_off_surface, (rule, torus.X)),
        (vcjax.off_surface_tables, (rule,)),
    ):
        message = f"^{call.__name__} got a rule for points on the .*vcjax.choose_off_surface"
        with pytest.raises(VcjaxError, match=message):
            call(*arguments)


def test_a_rule_for_a_surface_of_another_shape_is_refused_and_for_another_surface_warns(
    torus, rule
):
    with pytest.raises(VcjaxError, match=r"^prepare got X of shape \(4, 15, 3\), but the rule was"):
        vcjax.prepare(rule, torus.X[:, :-1])
    thin = section(lambda t: (2 + 0.5 * np.cos(t), 0.02 * np.sin(t)), nphi=4, ntheta=16)
    with pytest.warns(vcjax.UnresolvedWarning, match="^prepare got a rule chosen for another"):
        casing = vcjax.prepare(rule, thin)
    assert vcjax.self_test(casing).max() > 0.02


def test_a_traced_field_may_be_nan_but_not_of_another_dtype_or_shape(
    torus, casing, gradient_casing
):
    B = np.where(torus.B == torus.B[0, 0], np.nan, torus.B)
    assert np.isnan(jax.jit(vcjax.external_field)(casing, B)).any()
    with pytest.raises(VcjaxError, match="dtype float32"):
        jax.jit(vcjax.external_field)(casing, B.astype(np.float32))
    for evaluate in (vcjax.external_field, jax.jit(vcjax.external_field)):
        with pytest.raises(VcjaxError, match=r"rule was chosen for \(4, 24, 3\)"):
            evaluate(casing, torus.B[:, :-1])
    with pytest.raises(VcjaxError, match="internal_gradient got B of shape"):
        vcjax.internal_gradient(gradient_casing, torus.B[1:])


def test_a_zero_field_has_zero_parts(torus, casing, gradient_casing):
    assert not np.asarray(vcjax.external_field(casing, 0 * torus.B)).any()
    assert not np.asarray(vcjax.internal_field(casing, 0 * torus.B)).any()
    assert not np.asarray(vcjax.external_gradient(gradient_casing, 0 * torus.B)).any()
    with pytest.raises(VcjaxError, match="^error_estimate got B"):
        vcjax.error_estimate(casing, 0 * torus.B)


def test_error_estimate_is_refused_in_a_traced_function(torus, casing):
    for inside in (vcjax.error_estimate, lambda casing, B: vcjax.error_estimate(casing, torus.B)):
        with pytest.raises(VcjaxError, match="^error_estimate was called inside jit"):
            jax.eval_shape(inside, casing, torus.B)


_SIZES = [0, -1, 2.5, float("nan"), "all", "", None, True, 2**31, np.array([3, 4])]


@pytest.mark.parametrize("size", _SIZES, ids=str)
@pytest.mark.parametrize("name", ["chunk_size", "target_chunk_size"])
def test_invalid_tile_sizes_are_refused(torus, casing, gradient_casing, name, size):
    for call, whole in (
        (vcjax.external_field, casing),
        (vcjax.external_gradient, gradient_casing),
    ):
        with pytest.raises(VcjaxError, match=f"{call.__name__} got {name}="):
            call(whole, torus.B, **{name: size})
    with pytest.raises(VcjaxError, match=f"self_test got {name}="):
        vcjax.self_test(casing, **{name: size})


@pytest.mark.parametrize("sizes", [(1, 1), (2**31 - 1, 2**31 - 1), (np.int8(70), np.uint64(7))])
def test_tile_sizes_change_results_by_rounding_only(torus, casing, gradient_casing, sizes):
    tiles = dict(chunk_size=sizes[0], target_chunk_size=sizes[1])
    for evaluate, whole, rounding in (
        (vcjax.external_field, casing, 1e-12),
        (vcjax.external_gradient, gradient_casing, 1e-9),
    ):
        plain = evaluate(whole, torus.B)
        assert largest_error(evaluate(whole, torus.B, **tiles), plain) < rounding
