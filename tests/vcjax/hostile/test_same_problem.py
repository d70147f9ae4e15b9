"""Errors and estimates for the same problem rotated, moved, scaled or in another order."""

import hypothesis
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import strategies as st

import vcjax
from tests.vcjax.common import other_way, rule_of, turn
from tests.vcjax.hostile.problems import chosen, torus_problem
from vcjax import problems


def _strided(values):
    padded = np.full((*values.shape[:2], 7), np.nan)
    padded[..., 6:0:-2] = values
    return padded[..., 6:0:-2]


def _read_only(values):
    values = values.copy()
    values.setflags(write=False)
    return values


_SAME: dict[str, tuple] = {
    # Name: change of X, of B, and of the external field.
    "as it is": (lambda X: X, lambda B: B, lambda B: B),
    "theta starts an eighth later": (
        lambda X: np.roll(X, -2, axis=1),
        lambda B: np.roll(B, -3, axis=1),
        lambda B: np.roll(B, -1, axis=1),
    ),
    "theta runs the other way": (other_way, other_way, other_way),
    "mirrored, left-handed": tuple([lambda v: v * [1.0, 1.0, -1.0]] * 3),
    "moved up by a million radii": (lambda X: X + [0, 0, 5e5], lambda B: B, lambda B: B),
    "lengths near the limit of floats": (lambda X: 1e-48 * X, lambda B: B, lambda B: B),
    "lengths near the other limit": (lambda X: 1e48 * X, lambda B: B, lambda B: B),
    "field with the other sign": tuple([lambda X: X, *[lambda B: -B] * 2]),
    "Fortran order": (np.asfortranarray, np.asfortranarray, lambda B: B),
    "negative strides": (_strided, _strided, lambda B: B),
    "read-only": (_read_only, _read_only, lambda B: B),
    "JAX arrays": (jnp.asarray, jnp.asarray, lambda B: B),
    "negative zeros": (lambda X: np.where(X == 0, -0.0, X), lambda B: B, lambda B: B),
}


@pytest.mark.parametrize("name", _SAME)
def test_equivalent_inputs_give_the_known_answer(torus, name):
    of_X, of_B, of_answer = _SAME[name]
    X, B, known = of_X(torus.X), of_B(torus.B), of_answer(torus.B_ext)
    external = vcjax.external_field(vcjax.prepare(chosen(X, B), X), B)
    assert np.abs(np.asarray(external) - known).max() < 1e-3 * np.abs(B).max()


@hypothesis.settings(max_examples=8)
@hypothesis.given(
    length=st.floats(-12, 12),
    strength=st.floats(-20, 20),
    angle=st.floats(0, 6.3),
    lift=st.floats(-50, 50),
)
def test_units_and_position_change_the_field_by_rounding_only(
    casing, torus, length, strength, angle, lift
):
    rotation = turn(angle)
    X = 10.0**length * (torus.X @ rotation.T + [0, 0, lift])
    B = 10.0**strength * torus.B @ rotation.T
    # The rule is the same, with all its numbers of nodes.
    assert chosen(X, B) == casing.rule
    field = vcjax.external_field(vcjax.prepare(casing.rule, X), B)
    plain = np.asarray(vcjax.external_field(casing, torus.B))
    error = np.asarray(field) @ rotation / 10.0**strength - plain
    assert np.abs(error).max() < 1e-11 * np.abs(torus.B).max()


@pytest.mark.parametrize(
    "nfp, half, grids",
    [
        (1, False, dict(shape=(5, 13), src=(7, 17), trg=(3, 7))),
        (7, True, dict(shape=(4, 11), src=(5, 23), trg=(2, 5))),
    ],
)
def test_the_estimate_bounds_the_error_on_grids_without_common_factors(nfp, half, grids):
    # Field and size are the same for every nfp. The ellipse rotates half a turn in each period.
    surface = problems.rotating_ellipse_surface(nfp, major_radius=2.0, semi_axes=(0.45, 0.55))
    problem = torus_problem(surface, nfp=nfp, half=half, **grids)
    casing = vcjax.prepare(rule_of(problem, 2), problem.X)
    error = problem.external_error(vcjax.external_field(casing, problem.B))
    assert error <= vcjax.error_estimate(casing, problem.B) < 0.3


@pytest.mark.filterwarnings("ignore::vcjax.VcjaxWarning")
@pytest.mark.parametrize("kind", ["a column missing", "a tenth of it noise"])
def test_the_error_of_a_field_that_does_not_fit_its_grid_is_at_most_twice_the_estimate(torus, kind):
    noise = np.random.default_rng(1).normal(size=torus.B.shape)
    B = {
        "a column missing": np.delete(torus.B, 20, axis=1),
        "a tenth of it noise": torus.B + 0.1 * np.abs(torus.B).max() * noise,
    }[kind]
    casing = vcjax.prepare(chosen(torus.X, B, 1), torus.X)
    error = torus.external_error(vcjax.external_field(casing, B))
    # The spectra do not decay, so the error may be larger than the estimate.
    assert 0.01 < error <= 2 * vcjax.error_estimate(casing, B)
