"""Impossible data cause an error or a warning in calls that take data; correct data do not.

Warnings are errors in these tests, so a field that causes a warning is not evaluated.
"""

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vcjax
from tests.vcjax.common import EQUILIBRIA, flat, rippled, surface, symmetry, toroidal_field
from tests.vcjax.hostile import bad_data
from vcjax import VcjaxError, VcjaxWarning, problems
from vcjax._data_checks import watch
from vcjax._data_checks.findings import WatchedSurface, warn_of_field
from vcjax._data_checks.spectrum import field_spectrum
from vcjax._quadrature.choose import resolves
from vcjax.interfaces import VirtualCasing, VirtualCasingJAX
from vcjax.interfaces.simsopt import VirtualCasing as SimsoptCasing

ANY = VcjaxError, VcjaxWarning
NAMES = ("W7-X", "ellipse", "ellipse, full period", "axisymmetric", "equilibrium")
SPOILT, BENT = (
    [(name, kind) for name in NAMES for kind in changes if (name, kind) not in bad_data.ALLOWED]
    for changes in (bad_data.FIELDS, bad_data.SURFACES)
)


def choose(data, digits=3, call: Any = vcjax.choose, **options):
    options |= symmetry(data)
    if call is vcjax.choose:
        options = dict(trg_nphi=1, trg_ntheta=4) | options
    return call(data.X, data.B, digits, **options)


def spoilt(name, kind):
    """Return the data with a spoilt field."""
    data = bad_data.sound()[name]
    return data._replace(B=bad_data.FIELDS[kind](data))


@pytest.mark.parametrize("name, kind", SPOILT)
def test_a_bad_field_does_not_pass_choose(name, kind):
    with pytest.raises(ANY, match="^choose got"):
        choose(spoilt(name, kind))


@pytest.mark.parametrize("name, kind", BENT)
def test_a_bad_surface_does_not_pass_choose(name, kind):
    data = bad_data.sound()[name]
    with pytest.raises(ANY, match="^choose (got|found)"):
        choose(data._replace(X=bad_data.SURFACES[kind](data)))


def test_more_digits_of_gradients_off_the_surface_than_rounding_allows_cause_a_warning():
    problem, off = problems.axisymmetric(14), vcjax.choose_off_surface
    choose(problem, 12, gradient=True)
    choose(problem, 11, off, gradient=True)
    message = "^choose_off_surface got digits=12 for a gradient, but rounding limits"
    with pytest.warns(vcjax.AccuracyWarning, match=message) as caught:
        choose(problem, 12, off, gradient=True)
    assert len(caught) == 1


KINDS = (
    *("theta the other way", "-z", "a quarter off in theta", "each row twice"),
    *("every eighth column", "a wrong point", "noise of a hundredth", "half zero"),
)
"""Bad fields that the checks of current, flux, resolution, outliers and noise find."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("gradient", [False, True])
def test_a_bad_field_does_not_pass_choose_off_surface(kind, gradient):
    # The grid of B resolves the gradient to one digit fewer.
    with pytest.raises(ANY, match="^choose_off_surface got"):
        choose(spoilt("ellipse", kind), 3 - gradient, vcjax.choose_off_surface, gradient=gradient)


EVALUATIONS = {
    "external_field": lambda casings, B: vcjax.external_field(casings["on"], B),
    "internal_field": lambda casings, B: vcjax.internal_field(casings["on"], B),
    "field_at": lambda casings, B: vcjax.field_at(casings["off"], B, np.ones((1, 3))),
    "gradient_at": lambda casings, B: vcjax.gradient_at(casings["slopes"], B, np.ones((1, 3))),
    "compute_external_B": lambda casings, B: casings["flat"].compute_external_B(flat(B)),
    "compute_internal_gradB": lambda casings, B: casings["flat"].compute_internal_gradB(flat(B)),
    "compute_external_B_jit": lambda casings, B: casings["named"].compute_external_B_jit(flat(B)),
    "compute_internal_B_batch": lambda casings, B: casings["named"].compute_internal_B_batch(
        [casings["B"], flat(B)]
    ),
}


@pytest.fixture(scope="module")
def casings():
    """Return casings of the ellipse for a correct field."""
    data, off = bad_data.sound()["ellipse"], vcjax.choose_off_surface
    setup = 3, data.nfp, True, *data.X.shape[:2], flat(data.X), *data.B.shape[:2], 1, 4
    made: dict[str, Any] = {
        "on": vcjax.prepare(choose(data), data.X),
        "off": vcjax.prepare_off_surface(choose(data, 3, off), data.X),
        "slopes": vcjax.prepare_off_surface(choose(data, 2, off, gradient=True), data.X),
        "flat": VirtualCasing(),
        "named": VirtualCasingJAX(),
        "B": flat(data.B),
    }
    for kind in ("flat", "named"):
        made[kind].setup(*setup)
    return made


@pytest.mark.parametrize(
    "call, kind",
    [
        (call, kind)
        for call in EVALUATIONS
        for kind in (bad_data.FIELDS if call == "external_field" else KINDS)
    ],
)
def test_a_bad_field_does_not_pass_an_evaluation(casings, call, kind):
    with pytest.raises(ANY, match=f"^{call.removesuffix('_jit')} got"):
        EVALUATIONS[call](casings, spoilt("ellipse", kind).B)


def test_the_warning_names_the_mistake():
    for kind, category, said in (
        ("theta the other way", vcjax.ContradictionWarning, r"n \. curl B is 0\.3 of"),
        ("-z", vcjax.ContradictionWarning, "components"),
        ("a quarter off in theta", vcjax.ContradictionWarning, r"net flux of B is 0\.9"),
        ("a wrong point", vcjax.NoiseWarning, r"outlier at \[9, 5\]: .* smooth B by about 1"),
        ("noise of a hundredth", vcjax.NoiseWarning, "noise of about 0.0[01]"),
        ("each row twice", vcjax.UnresolvedWarning, "36 x 45 points, which miss"),
    ):
        with pytest.raises(category, match=said):
            choose(spoilt("ellipse, full period", kind))


@pytest.mark.parametrize("name", ["ellipse", "ellipse, full period"])
def test_the_grid_that_a_warning_names_is_fine_enough(name):
    """The currents of the problem give the field on any grid."""
    data, digits = bad_data.sound()[name], 6
    with pytest.raises(vcjax.UnresolvedWarning) as caught:
        choose(data, digits)
    nphi, _, ntheta = str(caught.value).partition(" digits need about ")[2].split()[:3]
    fine = problems.rotating_ellipse(3, half_period=data.half_period)
    points = surface(data, int(nphi), int(ntheta))
    B = problems.magnetic_field((*fine.outside, *fine.inside), points)
    choose(data._replace(B=B), digits)


def test_a_bad_field_causes_one_warning_which_names_the_file_of_the_call():
    data = spoilt("ellipse", "-z")
    with pytest.warns(vcjax.ContradictionWarning) as caught:
        rule = choose(data)
        casing = vcjax.prepare(rule, data.X)
        for _ in range(2):
            vcjax.external_field(casing, data.B)
    assert [w.filename for w in caught] == [__file__]


def test_traced_data_are_not_checked(casings):
    B = spoilt("ellipse", "-z").B
    jax.eval_shape(lambda B: vcjax.external_field(casings["on"], B), B)
    jax.eval_shape(lambda casing: vcjax.external_field(casing, jnp.asarray(B)), casings["on"])


@pytest.mark.parametrize(
    ("gradient", "mode", "size"), [(False, 28, 0.03), (True, 22, 0.003), (True, 30, 3e-4)]
)
def test_a_field_that_is_too_fine_for_a_rule_causes_a_warning(gradient, mode, size):
    data = bad_data.sound()["ellipse"]
    B = toroidal_field(surface(data, 9, 128))
    rule = choose(data._replace(B=B), gradient=gradient, trg_nphi=3, trg_ntheta=8)
    field: Any = vcjax.prepare, vcjax.external_field
    prepare, evaluate = (vcjax.prepare_gradient, vcjax.external_gradient) if gradient else field
    casing = prepare(rule, data.X)
    evaluate(casing, 2.0 * B)
    finer = rippled(B, mode, size)
    assert not resolves(rule, data.X, finer, 3)
    assert vcjax.error_estimate(casing, finer) > 3e-3
    call = evaluate.__name__
    with pytest.raises(vcjax.UnresolvedWarning, match=f"^{call} got B with finer structure"):
        evaluate(casing, finer)


@pytest.mark.parametrize("digits", [3, 6, 12])
@pytest.mark.parametrize("name", ["ellipse", "W7-X"])
@pytest.mark.filterwarnings("ignore:choose got B on")
def test_a_multiple_of_the_field_that_a_rule_was_chosen_for_is_not_too_fine(name, digits):
    data = bad_data.sound()[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for B in (data.B, rippled(data.B, 6, 0.3)):
            rule = vcjax.choose(data.X, B, digits, **symmetry(data))
            watched = WatchedSurface(rule, data.X)
            spectrum = field_spectrum(np.moveaxis(2.0 * B, -1, 0), data.nfp, data.half_period)
            warn_of_field("external_field", spectrum, watched, reused=True)
    assert not [w for w in caught if "finer structure" in str(w.message)]


def test_the_surface_of_a_rule_in_use_is_kept_while_rules_are_chosen_for_other_surfaces():
    data = bad_data.sound()["ellipse"]
    rule = vcjax.choose(data.X, data.B, 3, **symmetry(data))
    for k in range(2 * watch._KEPT):
        vcjax.choose((1 + 0.01 * k) * data.X, data.B, 3, **symmetry(data))
        vcjax.prepare(rule, data.X, near_weights="streamed")
        assert watch._key(rule, data.X) in watch._chosen


@pytest.mark.parametrize("path", sorted(EQUILIBRIA.glob("wout_*.nc")), ids=lambda p: p.stem)
def test_an_equilibrium_on_too_few_points_causes_a_warning(path):
    with pytest.raises(vcjax.UnresolvedWarning, match="^from_vmec got B on 2 x 8 points"):
        SimsoptCasing.from_vmec(path, 2, 8, filename=None)


def test_sound_data_pass_without_a_warning():
    targets = dict(trg_nphi=2, trg_ntheta=8)
    passed = [name for name, data, digits in bad_data.good() if choose(data, digits, **targets)]
    assert len(passed) >= 150
