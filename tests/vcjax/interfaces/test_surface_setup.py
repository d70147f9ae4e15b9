"""Which casing a set-up makes for a field, and when it keeps the casing for other fields."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.core import Tracer

import vcjax
from tests.vcjax.common import rippled, surface, toroidal_field
from vcjax import VcjaxError, problems
from vcjax._quadrature.choose import resolves
from vcjax.interfaces import _surface_setup
from vcjax.interfaces._surface_setup import SurfaceSetup

# Currents cross the surface in rippled fields.
pytestmark = pytest.mark.filterwarnings("ignore::vcjax.VcjaxWarning")

KINDS = ("field", "gradient", "off", "off_gradient")


class Made(SimpleNamespace):
    """A stand-in for a casing. Like a casing, it is hashable."""

    def __hash__(self):  # pyright: ignore[reportIncompatibleVariableOverride]
        return id(self)


@pytest.fixture(scope="module")
def problem():
    return problems.rotating_ellipse(4)


@pytest.fixture
def setup(problem, monkeypatch):
    """Return a set-up that chooses rules but prepares nothing, because preparing takes seconds."""
    for kind in KINDS:
        monkeypatch.setitem(_surface_setup._PREPARE, kind, lambda rule, X: Made(rule=rule))
    return SurfaceSetup(3, 4, True, problem.X, problem.B.shape[:2], (2, 8))


@pytest.fixture(scope="module")
def toroidal(problem):
    """Return a very smooth field, from a conductor on the z axis."""
    return toroidal_field(surface(problem, *problem.B.shape[:2]))


@pytest.mark.parametrize("kind", KINDS)
def test_a_field_that_no_kept_casing_resolves_gets_a_new_casing(setup, problem, toroidal, kind):
    gradient = kind.endswith("gradient")
    # These ripples are negligible in the field, but not in its gradient.
    fine = rippled(toroidal, 20, 3e-4)
    first = setup.casing(kind, toroidal)
    assert resolves(first.rule, problem.X, fine, 3) == (not gradient)
    second = setup.casing(kind, fine)
    assert resolves(second.rule, problem.X, fine, 3)
    assert (second is first) == (not gradient)
    assert setup.casing(kind, toroidal) is second


@pytest.mark.parametrize("digits", [1, 2, 3])
def test_a_casing_for_all_fields_is_used_for_each_field(setup, toroidal, digits):
    finest = setup.casing("field", None, digits=digits)
    assert finest.rule.quad_ntheta >= 2.8 * (toroidal.shape[1] // 2)
    for B in (toroidal, rippled(toroidal, toroidal.shape[1] // 2, 0.5), 0 * toroidal):
        assert setup.casing("field", B, digits=digits) is finest
    assert len(setup._held) == 1


@pytest.mark.parametrize("kind", ["field", "off_gradient"])
def test_a_zero_field_accepts_any_quadrature(setup, problem, kind):
    first = setup.casing(kind, 0 * problem.B)
    other = setup.casing(kind, problem.B)
    assert resolves(other.rule, problem.X, problem.B, 3)
    assert setup.casing(kind, 0 * problem.B) is other
    assert first.rule.quad_ntheta <= other.rule.quad_ntheta


def test_a_casing_with_a_capped_grid_is_kept(setup, problem):
    free = setup.casing("off", problem.B)
    most = free.rule.quad_nphi - 1
    with pytest.warns(vcjax.UnresolvedWarning, match="the rule has 2 digits"):
        coarse, again = (setup.casing("off", problem.B, max_nphi=most) for _ in range(2))
    assert again is coarse and coarse.rule.quad_nphi < free.rule.quad_nphi
    assert setup.casing("off", problem.B) is free


def test_caps_that_cost_digits_cause_a_warning_for_a_zero_field_too(setup, problem):
    zero = 0 * problem.B
    nodes = setup.rule("off", zero, 8).quad_ntheta
    with pytest.warns(vcjax.UnresolvedWarning, match="the rule has [1-7] digits"):
        assert setup.rule("off", zero, 8, max_ntheta=nodes - 1).quad_ntheta < nodes


def test_fields_of_a_batch_share_a_casing_that_resolves_each_field(setup, problem, toroidal):
    fields = [toroidal, rippled(toroidal, 20, 0.1), 0 * toroidal]
    shared = setup.casing_for_all("field", fields)
    assert all(setup.casing("field", B) is shared for B in fields)
    assert resolves(shared.rule, problem.X, fields[1], 3)


@pytest.mark.skipif(jax.__version_info__ < (0, 8), reason="JAX 0.7 refuses a traced B")
def test_a_casing_prepared_while_jax_traces_contains_no_tracers(setup, problem, monkeypatch):
    def prepare(rule, X):
        return Made(rule=rule, sources=jnp.asarray(X) + 1.0)

    monkeypatch.setattr(_surface_setup, "_PREPARE", {"field": prepare})
    traced = jax.eval_shape(lambda B: setup.casing("field", B).sources, jnp.asarray(problem.B))
    (made,) = setup._held.values()
    assert traced.shape == made.sources.shape and not isinstance(made.sources, Tracer)


def test_every_field_of_a_batch_is_checked_with_a_given_rule_too(setup, toroidal):
    rule = setup.rule("field", toroidal)
    spoilt = np.where(toroidal == toroidal[0, 0], np.nan, toroidal)
    for fields in ([toroidal, spoilt], [spoilt, toroidal]):
        with pytest.raises(VcjaxError, match="NaN"):
            setup.casing_for_all("field", fields, rule=rule)
