"""Surfaces, fields and options that a call cannot use cause an error that gives the reason."""

import re
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vcjax
from tests.vcjax.common import section, toroidal_field
from tests.vcjax.hostile.problems import chosen
from vcjax import VcjaxError, problems
from vcjax._programs.compiled import enable_x64

WHOLE_TURN: dict[str, Any] = dict(nfp=1, half_period=False)
HALF_PERIOD: dict[str, Any] = dict(nfp=4, half_period=True)


@pytest.fixture(scope="module")
def ellipse():
    return problems.rotating_ellipse(3)


def _with(values, index, value):
    spoilt = np.array(values)
    spoilt[index] = value
    return spoilt


_BAD_ARRAYS = {
    # Name: change of X or B, part of the error.
    "NaN": (lambda v: _with(v, (2, 3, 1), np.nan), "NaN or infinite values at 1 of "),
    "infinity": (lambda v: _with(v, (0, 0), -np.inf), r"values at 1 of .* the first at \[0, 0\]"),
    "no axes": (lambda v: np.zeros(()), "shape"),
    "empty": (lambda v: v[:0], ""),
    "component first": (lambda v: np.moveaxis(v, -1, 0), r"give \(nphi, ntheta, 3\)"),
    "four components": (lambda v: np.pad(v, ((0, 0), (0, 0), (0, 1))), "shape"),
    "flat": (lambda v: v.ravel(), "shape"),
    "list": (lambda v: v.tolist(), "type list"),
    "tuple of rows": (tuple, "type tuple"),
    "None": (lambda v: None, "type NoneType"),
    "masked": (np.ma.asarray, "masked"),
    "objects": (lambda v: v.astype(object), "dtype object"),
    "half precision": (lambda v: v.astype(np.float16), "dtype float16"),
    "single precision": (lambda v: v.astype(np.float32), "dtype float32"),
    "long double": (lambda v: v.astype(np.longdouble), "dtype"),
    "integers": (lambda v: np.rint(100 * v).astype(int), "dtype int64"),
    "other byte order": (lambda v: v.astype(">f8"), "dtype >f8"),
    "booleans": (lambda v: v > 0, "dtype bool"),
    "complex": (lambda v: v.astype(complex), "dtype complex128"),
    "text": (lambda v: v.astype(str), "dtype <U"),
}


@pytest.mark.parametrize("kind", _BAD_ARRAYS)
def test_calls_refuse_arrays_that_are_not_finite_float64_vectors_on_a_grid(torus, casing, kind):
    spoil, message = _BAD_ARRAYS[kind]
    for name, argument, call in (
        ("choose", "X", lambda bad: chosen(bad(torus.X), torus.B)),
        ("choose", "B", lambda bad: chosen(torus.X, bad(torus.B))),
        ("prepare", "X", lambda bad: vcjax.prepare(casing.rule, bad(torus.X))),
        (
            "surface_points",
            "X",
            lambda bad: vcjax.surface_points(bad(torus.X), **WHOLE_TURN, nphi=3, ntheta=4),
        ),
        ("external_field", "B", lambda bad: vcjax.external_field(casing, bad(torus.B))),
        ("internal_field", "B", lambda bad: vcjax.internal_field(casing, bad(torus.B))),
        ("spectral_tail", "B", lambda bad: vcjax.spectral_tail(bad(torus.B), **WHOLE_TURN)),
    ):
        with pytest.raises(VcjaxError, match=f"^{name} got {argument}.*{message}"):
            call(spoil)


_BAD_SURFACES = {
    # Name: change of X, part of the error.
    "in 1e-60": (lambda X: 1e-60 * X, "another unit"),
    "in 1e200": (lambda X: 1e200 * X, "another unit"),
    "along the other way of phi": (lambda X: X[(-np.arange(4)) % 4], "z axis"),
    "with axes exchanged": (lambda X: X.swapaxes(0, 1), "open|z axis|degenerate"),
    "in cylindrical components": (
        lambda X: np.stack([np.hypot(X[..., 0], X[..., 1]), X[..., 2], X[..., 2]], axis=2),
        "z axis|degenerate|volume|open",
    ),
    "with its first row again": (lambda X: np.concatenate([X, X[:1]]), "repeat"),
    "without its last row": (lambda X: X[:-1], "open surface"),
    "without its last column": (lambda X: X[:, :-1], "open surface"),
    "shuffled": (lambda X: X[:, np.random.default_rng(0).permutation(16)], "."),
}
_BAD_HALF_PERIODS = {
    "two poloidal points": (lambda X: X[:, :2], "4 poloidal points"),
    "empty": (lambda X: X[:0], "at least 1 toroidal"),
    "end point repeated": (lambda X: np.concatenate([X, X[:, :1]], axis=1), "repeats the first"),
    "half of the cross-section": (lambda X: X[:, : X.shape[1] // 2], "poloidal seam"),
    "half of the period": (lambda X: X[: X.shape[0] // 2], "toroidal seam"),
    "one poloidal point missing": (lambda X: X[:, :-1], "poloidal seam"),
    "one toroidal point missing": (lambda X: X[:-1], "toroidal seam"),
    "a point repeated inside": (lambda X: X[:, [0, 1, 2, 2, *range(3, 20)]], "index 3"),
    "shifted off the symmetry plane": (lambda X: X + [0, 0, 0.05], "toroidal seam"),
    "theta off by half a step": (lambda X: 0.5 * (X + np.roll(X, 1, axis=1)), "toroidal seam"),
    "one point": (lambda X: np.broadcast_to(X[:1, :1], X.shape).copy(), "degenerate"),
    "a line": (lambda X: np.broadcast_to(X[:, :1], X.shape).copy(), "degenerate"),
}


@pytest.mark.parametrize("kind", [*_BAD_SURFACES, *_BAD_HALF_PERIODS])
def test_choose_refuses_an_unusable_surface(torus, ellipse, kind):
    spoil, message = (_BAD_SURFACES | _BAD_HALF_PERIODS)[kind]
    problem, symmetry = (torus, WHOLE_TURN) if kind in _BAD_SURFACES else (ellipse, HALF_PERIOD)
    with pytest.raises(VcjaxError, match=f"(?s)^choose (got|found).*({message})"):
        chosen(spoil(problem.X), problem.B, **symmetry)


@pytest.mark.parametrize("rows, half_period", [(1, False), (2, False), (1, True)])
def test_too_few_rows_to_turn_around_the_z_axis_are_refused(rows, half_period):
    X = section(lambda t: (3 + np.cos(t), np.sin(t)), nphi=rows, ntheta=16)
    with pytest.raises(VcjaxError, match="^choose got X with . rows .* give at least 3"):
        chosen(X, np.ones_like(X), half_period=half_period)


@pytest.mark.parametrize(
    "spoil, message",
    [
        (lambda B: 0 * B, "B that is zero everywhere"),
        (lambda B: 1e-200 * B, "another unit"),
        (lambda B: 1e200 * B, "another unit"),
        (lambda B: B * np.linspace(1.0, 2.0, B.shape[1])[:, None], "a field that breaks.*seam"),
        (lambda B: np.broadcast_to([1.0, 0, 0], B.shape).copy(), "a field that breaks.*seam"),
        (lambda B: B[:, ::-1], "a field that breaks.*seam"),
        (lambda B: B[:-2], "a field that breaks.*seam"),
        (lambda B: B[:, :-3], "a field that breaks.*seam"),
    ],
)
def test_a_field_that_is_too_small_too_large_or_breaks_at_a_seam_is_refused(
    ellipse, spoil, message
):
    with pytest.raises(VcjaxError, match=f"^choose got .*{message}"):
        chosen(ellipse.X, spoil(ellipse.B), **HALF_PERIOD)


_BAD_OPTIONS = dict(
    digits=[0, 14, -3, 6.0, True, "6", Fraction(6)],
    nfp=[0, -4, 1001, float("inf"), float("nan")],
    half_period=["yes"],
    trg_nphi=[0],
    trg_ntheta=[-8, 2.5, 8.0],
)


@pytest.mark.parametrize(
    "name, value", [(name, value) for name, values in _BAD_OPTIONS.items() for value in values]
)
def test_a_bad_option_is_named_with_its_value(torus, name, value):
    with pytest.raises(VcjaxError, match=re.escape(f"choose got {name}={value!r}; give")):
        chosen(torus.X, torus.B, **{name: value})


@pytest.mark.parametrize("size", [0, -1, 2.5, "a"])
def test_a_number_of_points_that_is_no_positive_integer_is_refused(torus, size):
    with pytest.raises(VcjaxError, match="^surface_points got nphi="):
        vcjax.surface_points(torus.X, **WHOLE_TURN, nphi=size, ntheta=4)


@pytest.mark.parametrize(
    "symmetry, message",
    [
        (dict(nfp=2), "open surface|z axis"),
        (dict(nfp=3), "open surface|z axis"),
        (dict(half_period=True), "repeat"),
    ],
)
def test_a_whole_turn_with_another_declared_symmetry_is_refused(torus, symmetry, message):
    with pytest.raises(VcjaxError, match=f"^choose got .*({message})"):
        chosen(torus.X, torus.B, **symmetry)


@pytest.mark.parametrize(
    "rows, declared",
    [
        # Fewer rows may also belong to a surface of 8 periods.
        (10, {"nfp": 8, "half_period": False}),
        *(
            (rows, declared)
            for rows in (10, 3, 2)
            for declared in (*({"nfp": nfp} for nfp in (1, 2, 3, 5, 8)), {"half_period": False})
        ),
    ],
)
def test_a_half_period_with_another_declared_symmetry_is_refused(rows, declared):
    X = problems.rotating_ellipse_surface(4).points(rows, 20, half_period=True)
    with pytest.raises(VcjaxError, match="^choose got"):
        chosen(X, toroidal_field(X), **(HALF_PERIOD | declared))


def test_numpy_integers_for_nfp_give_the_same_rule(ellipse):
    counts: list[Any] = [4, np.uint8(4), np.int32(4)]
    rules = {chosen(ellipse.X, ellipse.B, nfp=nfp, half_period=True) for nfp in counts}
    assert len(rules) == 1


def test_spectral_tail_refuses_a_zero_field_and_a_grid_of_too_few_points(torus):
    for B in (torus.B[:, :3], torus.B[:0], 0 * torus.B):
        with pytest.raises(VcjaxError, match="^spectral_tail got B"):
            vcjax.spectral_tail(B, **WHOLE_TURN)


@pytest.mark.parametrize("traced", ["X", "B"])
@pytest.mark.parametrize("transform", [lambda f: f, jax.jit, jax.grad])
def test_choosing_inside_a_traced_program_is_refused(torus, traced, transform):
    arrays = dict(X=torus.X, B=torus.B)

    def cutoff(values):
        return chosen(**(arrays | {traced: values})).cutoff

    with pytest.raises(VcjaxError, match=f"traced {traced}.*prepare"):
        jax.vmap(transform(cutoff))(jnp.stack([arrays[traced]] * 2))


def test_32_bit_mode_is_refused_with_advice(torus):
    with enable_x64(False), pytest.raises(VcjaxError, match="jax_enable_x64"):
        chosen(torus.X, torus.B)
