"""Copies and pickles give the same answer; pickles of other versions are refused."""

import copy
import dataclasses
import io
import pickle

import jax
import numpy as np
import pytest

import vcjax
from vcjax import VcjaxError, _pytree


def test_a_casing_copied_pickled_or_moved_to_numpy_gives_the_same_answer(torus, casing):
    plain = vcjax.external_field(casing, torus.B)
    for again in (
        pickle.loads(pickle.dumps(casing)),
        copy.deepcopy(casing),
        jax.tree.map(np.asarray, casing),
        jax.device_put(casing),
        jax.tree.unflatten(*reversed(jax.tree.flatten(casing))),
    ):
        assert again.rule == casing.rule and hash(again.rule) == hash(casing.rule)
        np.testing.assert_array_equal(vcjax.external_field(again, torus.B), plain)


def test_a_casing_divided_over_devices_is_copied_but_not_pickled(casing):
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("targets",))
    divided = dataclasses.replace(casing, devices=mesh)
    assert copy.copy(divided).devices is copy.deepcopy(divided).devices is mesh
    with pytest.raises(VcjaxError, match=r"^Pickling got a casing divided over 1 devices.*prepare"):
        pickle.dumps(divided)


@pytest.mark.parametrize("name", ["cloudpickle", "joblib"])
def test_copies_by_other_picklers_give_the_same_answer(torus, casing, name):
    module = pytest.importorskip(name, reason="not installed")
    stored = io.BytesIO()
    module.dump(casing, stored)
    stored.seek(0)
    again = module.load(stored)
    assert again.rule == casing.rule
    plain = vcjax.external_field(casing, torus.B)
    np.testing.assert_array_equal(vcjax.external_field(again, torus.B), plain)


@pytest.mark.parametrize("kind", ["rule", "casing", "gradient_casing", "tables", "dense"])
def test_the_error_for_a_pickle_of_another_version_names_both_versions(
    kind, request, rule, casing, monkeypatch
):
    made = {"tables": lambda: vcjax.tables(rule), "dense": lambda: vcjax.dense_operator(casing)}
    whole = made[kind]() if kind in made else request.getfixturevalue(kind)
    with monkeypatch.context() as patched:
        patched.setattr(_pytree, "VERSION", "0.0.7")
        stored = pickle.dumps(whole)
    # The error may name the rule, which is unpickled before its casing.
    ours = vcjax.__version__.replace(".", r"\.")
    message = rf"^Unpickling got a \w+ of vcjax 0\.0\.7, which vcjax {ours} cannot read\. .*again"
    with pytest.raises(VcjaxError, match=message):
        pickle.loads(stored)


def test_pickles_with_other_attributes_or_without_a_version_are_refused(rule):
    # A rule pickled before `core_count` existed would silently get its default.
    fields = {name: value for name, value in vars(rule).items() if name != "core_count"}
    ours = vcjax.__version__
    same = f"of vcjax {ours}, which this build of vcjax cannot read; these attributes differ: core"
    for state, differs in (
        ({"vcjax": ours, "fields": fields}, same),
        (fields, "of vcjax before 0.1.0"),
        (dict(vars(rule)), "of vcjax before 0.1.0"),
    ):
        with pytest.raises(VcjaxError, match=differs):
            object.__new__(vcjax.Rule).__setstate__(state)  # pyright: ignore
