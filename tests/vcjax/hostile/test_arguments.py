"""Surfaces, fields and options that `choose` cannot use end in an error that says why."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vcjax
from tests.vcjax.hostile.problems import chosen, toroidal_field
from vcjax import VcjaxError, problems

_REFUSED: dict[str, tuple] = {
    # name: (change of X, change of B, options, part of the error)
    "X of objects": (lambda X: X.astype(object), None, {}, "dtype object"),
    "X in half precision": (lambda X: X.astype(np.float16), None, {}, "dtype float16"),
    "X in long double": (lambda X: X.astype(np.longdouble), None, {}, "dtype|float64"),
    "X of the other byte order": (lambda X: X.astype(">f8"), None, {}, "dtype >f8"),
    "X of booleans": (lambda X: X > 0, None, {}, "dtype bool"),
    "X of text": (lambda X: X.astype(str), None, {}, "dtype <U"),
    "X masked": (np.ma.asarray, None, {}, "masked"),
    "X a tuple of rows": (tuple, None, {}, "type tuple"),
    "X in 1e-60": (lambda X: 1e-60 * X, None, {}, "another unit"),
    "X in 1e200": (lambda X: 1e200 * X, None, {}, "another unit"),
    "X with minus infinity": (lambda X: np.where(X < -2.4, -np.inf, X), None, {}, "infinite"),
    "X along the other way of phi": (lambda X: X[(-np.arange(4)) % 4], None, {}, "z axis"),
    "X with axes exchanged": (lambda X: X.swapaxes(0, 1), None, {}, "open|z axis|degenerate"),
    "X in cylindrical components": (
        lambda X: np.stack([np.hypot(X[..., 0], X[..., 1]), X[..., 2], X[..., 2]], axis=2),
        None,
        {},
        "z axis|degenerate|volume|open",
    ),
    "X with four components": (lambda X: np.pad(X, ((0, 0), (0, 0), (0, 1))), None, {}, "shape"),
    "X with its first row again": (lambda X: np.concatenate([X, X[:1]]), None, {}, "repeat"),
    "X without its last row": (lambda X: X[:-1], None, {}, "open surface"),
    "X without its last column": (lambda X: X[:, :-1], None, {}, "open surface"),
    "X shuffled": (lambda X: X[:, np.random.default_rng(0).permutation(16)], None, {}, "."),
    "X a sphere's shell": (lambda X: X * 0 + [1.0, 0, 0], None, {}, "degenerate"),
    "nfp 2 for a whole turn": (None, None, dict(nfp=2), "open surface|z axis"),
    "nfp 3 for a whole turn": (None, None, dict(nfp=3), "open surface|z axis"),
    "half period for a whole turn": (None, None, dict(half_period=True), "repeat"),
    "nfp infinite": (None, None, dict(nfp=float("inf")), "nfp=inf"),
    "nfp NaN": (None, None, dict(nfp=float("nan")), "nfp=nan"),
    "nfp a thousand and one": (None, None, dict(nfp=1001), "nfp=1001"),
    "digits -3": (None, None, dict(digits=-3), "digits=-3"),
    "targets by a float": (None, None, dict(trg_ntheta=8.0), "trg_ntheta=8.0"),
    "targets below none": (None, None, dict(trg_ntheta=-8), "trg_ntheta=-8"),
    "B zero": (None, lambda B: 0 * B, {}, "zero everywhere"),
    "B NaN at a corner": (None, lambda B: np.where(B == B[0, 0], np.nan, B), {}, "NaN"),
    "B of 1e-200": (None, lambda B: 1e-200 * B, {}, "another unit"),
    "B of 1e200": (None, lambda B: 1e200 * B, {}, "another unit"),
    "B complex": (None, lambda B: B.astype(complex), {}, "dtype complex128"),
    "B with a jump": (
        None,
        lambda B: B * np.linspace(1.0, 2.0, B.shape[1])[:, None],
        {},
        "breaks",
    ),
}


@pytest.mark.parametrize("name", _REFUSED)
def test_choose_refuses(torus, name):
    of_X, of_B, options, message = _REFUSED[name]
    X = of_X(torus.X) if of_X else torus.X
    B = of_B(torus.B) if of_B else torus.B
    with pytest.raises(VcjaxError, match="^choose (got|found)") as error:
        chosen(X, B, **options)
    assert error.match(message)


_HALF_REFUSED = {
    "nfp 3 of 4": dict(nfp=3),
    "nfp 5 of 4": dict(nfp=5),
    "nfp 8 of 4": dict(nfp=8),
    "nfp 2 of 4": dict(nfp=2),
    "a whole period": dict(half_period=False),
    "a whole period of twice the nfp": dict(nfp=8, half_period=False),
}


@pytest.mark.parametrize("rows", [10, 3, 2])
@pytest.mark.parametrize("name", _HALF_REFUSED)
def test_a_half_period_declared_as_something_else_is_refused(name, rows):
    if rows < 4 and "twice the nfp" in name:
        pytest.skip("three rows say nothing of their symmetry: they are a surface of 8 periods too")
    surface = problems.rotating_ellipse_surface(4)
    X = surface.points(rows, 20, half_period=True)
    B = toroidal_field(X)
    with pytest.raises(VcjaxError, match="^choose got"):
        vcjax.choose(X, B, 3, **(dict(nfp=4, half_period=True) | _HALF_REFUSED[name]))


def test_choosing_is_no_part_of_a_traced_program(torus):
    for traced in ("X", "B"):
        arrays = dict(X=torus.X, B=torus.B)

        def cutoff(values, traced=traced, arrays=arrays):
            return chosen(**(arrays | {traced: values})).cutoff

        for transform in (
            jax.vmap,
            lambda f: jax.vmap(jax.jit(f)),
            lambda f: jax.vmap(jax.grad(f)),
        ):
            with pytest.raises(VcjaxError, match=f"traced {traced}.*prepare"):
                transform(cutoff)(
                    jnp.stack([arrays[traced]] * 2) if transform is jax.vmap else arrays[traced]
                )
