"""Two answers are compared bit by bit, for any structure and dtype."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxmeter._compare.answers import answers_of, values_fingerprint
from jaxmeter._compare.exact import compare_answers


def is_equal(found):
    return found.a_fingerprint == found.b_fingerprint


TREE = {"x": jnp.arange(3.0), "y": (1, np.array([True]), jax.random.key(0))}
NAN = jnp.asarray([jnp.nan])
EQUAL = {
    "every kind of leaf": (TREE, jax.tree.map(lambda leaf: leaf, TREE), 7),  # a key is two numbers
    "leaves that are no arrays": ((abs, jnp.ones(2)), (abs, jnp.ones(2)), 2),
    # When a function that is not jitted is measured, None replaces such a leaf.
    "None in place of a leaf": ((abs, jnp.ones(2)), (None, jnp.ones(2)), 2),
    "static data": (*(jax.tree_util.Partial(lambda: None, jnp.ones(2)) for _ in "ab"), 2),
    "nothing": (None, None, 0),
    "no numbers": (jnp.ones((0, 3)), jnp.ones((0, 3)), 0),
    "NaN": (NAN, NAN, 1),
}


@pytest.mark.parametrize("name", EQUAL)
def test_equal_answers_have_equal_fingerprints_and_no_difference(name):
    a, b, count = EQUAL[name]
    found = answers_of(a, b)
    assert is_equal(found)
    assert (found.max_difference, found.numbers_count) == (0.0, count)


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "complex64", "int32", "bool"])
def test_the_largest_difference_is_found_in_any_dtype(dtype):
    a, b = jnp.asarray([0, 0, 1], dtype), jnp.asarray([0, 1, 1], dtype)
    found = answers_of(a, b)
    assert not is_equal(found)
    assert (found.max_difference, found.largest) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("b", "tolerance", "verdict"),
    [
        ([1.0, 4.0], 0.0, "same"),
        ([1.0, 4.0 + 1e-6], 0.0, "different"),
        ([1.0, 4.0 + 1e-6], 1e-7, "different"),
        ([1.0, 4.0 + 1e-6], 1e-6, "same"),
        ([1.0, np.nan], 1e-6, "different"),
        ([1.0, 4.0, 0.0], 1e-6, "different"),
    ],
)
def test_answers_are_the_same_if_they_differ_by_no_more_than_the_tolerance(b, tolerance, verdict):
    found = answers_of(np.array([1.0, 4.0]), np.array(b))
    (exact,) = compare_answers([found, found], tolerance)
    assert exact.verdict == verdict
    assert ("within the tolerance of 1e-06" in exact.reason) == (
        verdict == "same" and tolerance > 0
    )


@pytest.mark.parametrize("a", [[np.nan, 1.0, 2.0], [1.0, np.inf, 2.0]])
def test_nan_and_infinities_in_different_places_are_outside_any_tolerance(a):
    b = a[::-1] if np.isnan(a).any() else [1.0, -np.inf, 2.0]
    for other, verdict in ((b, "different"), ([*a[:2], 2.0 + 1e-9], "same")):
        (exact,) = compare_answers([answers_of(np.array(a), np.array(other))], 1e-6)
        assert exact.verdict == verdict
        assert ("NaN or infinite differ" in exact.reason) == (verdict == "different")


def test_nan_and_infinities_are_counted_and_left_out_of_the_difference():
    found = answers_of(jnp.asarray([jnp.nan, jnp.inf, 1.0]), jnp.asarray([0.0, 2.0, 4.0]))
    assert (found.a_not_finite_count, found.b_not_finite_count) == (2, 0)
    assert (found.max_difference, found.largest) == (3.0, 1.0)
    assert not found.is_not_finite_alike


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (jnp.ones(3), jnp.ones(4)),
        (jnp.ones(2, "float32"), jnp.ones(2, "float64")),
        ({"x": jnp.ones(2)}, {"y": jnp.ones(2)}),
        (jnp.ones(2), (jnp.ones(2), jnp.ones(2))),
        ((jnp.ones(2),), [jnp.ones(2)]),
        ((jnp.ones(2), None), (jnp.ones(2),)),
        (None, ()),
    ],
)
def test_answers_with_different_trees_shapes_or_dtypes_have_no_largest_difference(a, b):
    found = answers_of(a, b)
    assert not is_equal(found) and found.max_difference is None


def test_a_fingerprint_depends_on_values_shapes_dtypes_and_order():
    a, b = np.arange(4.0), np.zeros(4)
    prints = [
        values_fingerprint(arrays)
        for arrays in ([], [a], [b], [a, b], [b, a], [a.reshape(2, 2)], [a.astype("float32")])
    ]
    assert len(set(prints)) == len(prints)
    assert values_fingerprint([np.asfortranarray(a.reshape(2, 2))]) == prints[5]
    assert values_fingerprint([jnp.arange(4.0)]) == prints[1]
