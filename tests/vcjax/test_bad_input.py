"""Bad input raises an error that names the call, the argument, and a suggestion."""

import os
import subprocess
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import vcjax
from vcjax import VcjaxError, problems

pytestmark = pytest.mark.usefixtures("no_shape_checks")
KIND: dict[str, Any] = dict(nfp=4, half_period=True)


@pytest.fixture(scope="module")
def problem():
    return problems.rotating_ellipse(3)


@pytest.fixture(scope="module")
def casing(problem):
    rule = vcjax.choose(problem.X, problem.B, 3, **KIND, trg_nphi=4, trg_ntheta=8)
    return vcjax.prepare(rule, problem.X)


def _torus(r, z):
    """Axisymmetric surface (8, 16, 3) over the full turn, from r(theta) and z(theta)."""
    theta = 2 * np.pi * np.arange(16) / 16
    phi = 2 * np.pi * np.arange(8)[:, None] / 8
    zero = 0 * phi
    return np.stack([r(theta) * np.cos(phi), r(theta) * np.sin(phi), z(theta) + zero], axis=-1)


@pytest.mark.parametrize(
    "r, z, message",
    [
        (lambda t: 1 + 1.3 * np.cos(t), lambda t: 1.3 * np.sin(t), "reaches the z axis"),
        (lambda t: 3 + np.sin(2 * t), lambda t: np.sin(t), "encloses no volume"),
        (lambda t: 3 + np.cos(t), lambda t: 0 * t, "degenerate|no volume"),
    ],
)
def test_a_surface_that_is_no_torus_is_refused(r, z, message):
    X = _torus(r, z)
    with pytest.raises(VcjaxError, match=message):
        vcjax.choose(X, np.ones_like(X) * [0, 0, 1.0], 3, nfp=1)


@pytest.mark.parametrize("rows, half_period", [(1, False), (2, False), (1, True)])
def test_rows_too_few_to_turn_around_the_z_axis_are_refused(rows, half_period):
    X = _torus(lambda t: 3 + np.cos(t), np.sin)[:: 8 // rows]
    with pytest.raises(VcjaxError, match="^choose got X with . rows .* give at least 3"):
        vcjax.choose(X, np.ones_like(X), 3, nfp=1, half_period=half_period)


def _with(values, index, value):
    spoiled = np.array(values)
    spoiled[index] = value
    return spoiled


@pytest.mark.parametrize(
    "change, message",
    [
        (dict(digits=0), "digits=0; give an integer from 1 to 13"),
        (dict(digits=14), "digits=14"),
        (dict(digits=6.0), "digits=6.0"),
        (dict(digits=True), "digits=True"),
        (dict(digits="6"), "digits='6'"),
        (dict(digits=Fraction(6)), "digits=Fraction"),
        (dict(nfp=0), "nfp=0"),
        (dict(nfp=-4), "nfp=-4"),
        (dict(half_period="yes"), "half_period='yes'; give True or False"),
        (dict(trg_nphi=0), "trg_nphi=0"),
        (dict(trg_ntheta=2.5), "trg_ntheta=2.5"),
        (dict(nfp=3), "open surface"),
        (dict(nfp=1), "open surface"),
        (dict(half_period=False), "open surface"),
    ],
)
def test_choose_names_the_bad_argument(problem, change, message):
    arguments = dict(X=problem.X, B=problem.B, digits=3, **KIND) | change
    with pytest.raises(VcjaxError, match="^choose got") as error:
        vcjax.choose(**arguments)
    assert message in str(error.value)


SPOIL_X = {
    "NaN": (lambda X: _with(X, (2, 3, 1), np.nan), "1 points that are NaN"),
    "infinity": (lambda X: _with(X, (0, 0), np.inf), "NaN or infinite, the first at [0, 0]"),
    "component first": (lambda X: np.moveaxis(X, -1, 0), "give (nphi, ntheta, 3)"),
    "flat": (lambda X: X.ravel(), "shape"),
    "list": (lambda X: X.tolist(), "type list"),
    "None": (lambda X: None, "type NoneType"),
    "32-bit": (lambda X: X.astype(np.float32), "dtype float32"),
    "integers": (lambda X: np.rint(100 * X).astype(int), "dtype int64"),
    "complex": (lambda X: X.astype(complex), "dtype complex128"),
    "two poloidal points": (lambda X: X[:, :2], "3 poloidal points"),
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


@pytest.mark.parametrize("kind", SPOIL_X)
def test_choose_refuses_a_surface_it_cannot_use(problem, kind):
    spoil, message = SPOIL_X[kind]
    with pytest.raises(VcjaxError, match="^choose got") as error:
        vcjax.choose(spoil(problem.X), problem.B, 3, **KIND)
    assert message in str(error.value)


@pytest.mark.parametrize("kind", ["NaN", "infinity", "component first", "flat", "list", "32-bit"])
def test_every_call_refuses_a_field_it_cannot_use(problem, casing, kind):
    spoil, message = SPOIL_X[kind]
    for name, call in (
        ("choose", lambda B: vcjax.choose(problem.X, B, 3, **KIND)),
        ("external_field", lambda B: vcjax.external_field(casing, B)),
        ("internal_field", lambda B: vcjax.internal_field(casing, B)),
        ("spectral_tail", lambda B: vcjax.spectral_tail(B, **KIND)),
    ):
        with pytest.raises(VcjaxError, match=f"^{name} got B") as error:
            call(spoil(problem.B))
        assert message in str(error.value)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda B: np.broadcast_to([1.0, 0, 0], B.shape).copy(),
        lambda B: B[:, ::-1],
        lambda B: B[:-2],
        lambda B: B[:, :-3],
    ],
)
def test_a_field_without_the_symmetry_of_its_grid_is_refused(problem, spoil):
    with pytest.raises(VcjaxError, match="^choose got a field that breaks.*seam"):
        vcjax.choose(problem.X, spoil(problem.B), 3, **KIND)


def test_a_spectral_tail_needs_a_field_and_a_grid(problem):
    for B in (problem.B[:, :3], 0 * problem.B):
        with pytest.raises(VcjaxError, match="^spectral_tail got B"):
            vcjax.spectral_tail(B, **KIND)


def test_symmetry_given_as_numpy_integers_is_the_same(problem):
    symmetries: list[Any] = [4, np.uint8(4), np.int32(4)]
    rules = {vcjax.choose(problem.X, problem.B, 3, nfp=nfp, half_period=True) for nfp in symmetries}
    assert len(rules) == 1


@pytest.mark.parametrize("size", [0, -1, 2.5, "a"])
def test_a_grid_has_a_positive_number_of_points(problem, size):
    with pytest.raises(VcjaxError, match="^surface_points got nphi="):
        vcjax.surface_points(problem.X, **KIND, nphi=size, ntheta=4)


def test_a_field_on_another_grid_is_refused(problem, casing):
    with pytest.raises(VcjaxError, match=r"rule was chosen for \(9, 45, 3\)"):
        vcjax.external_field(casing, problem.B[:, :-1])


def test_calls_in_the_wrong_order_name_the_call_that_comes_first(problem, casing):
    with pytest.raises(VcjaxError, match="make one with vcjax.choose"):
        vcjax.prepare(3, problem.X)  # pyright: ignore[reportArgumentType]
    with pytest.raises(VcjaxError, match="make one with vcjax.choose"):
        vcjax.tables(3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(VcjaxError, match="make one with vcjax.prepare"):
        vcjax.self_test(casing.rule)
    with pytest.raises(VcjaxError, match="make one with vcjax.prepare"):
        vcjax.external_field(casing.rule, problem.B)  # pyright: ignore[reportArgumentType]


def test_32_bit_mode_is_refused_with_the_way_out():
    program = (
        "import numpy as np, vcjax\n"
        "from vcjax import problems\n"
        "p = problems.rotating_ellipse(3)\n"
        "try: vcjax.choose(p.X, p.B, 3, nfp=4, half_period=True)\n"
        "except vcjax.VcjaxError as error: print(error)\n"
    )
    environment = os.environ | {"JAX_ENABLE_X64": "0"}
    run = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "jax_enable_x64" in run.stdout, run.stderr
