"""Fixtures that the tests of hostile input share: a torus, its rule and its casings."""

import pytest

import vcjax
from tests.vcjax.hostile.problems import chosen, torus_problem
from vcjax import problems


@pytest.fixture(autouse=True, scope="module")
def _no_shape_checks(no_shape_checks):
    pass


@pytest.fixture(scope="session")
def torus():
    return torus_problem(problems.circular_torus(minor_radius=0.5))


@pytest.fixture(scope="session")
def rule(torus):
    return chosen(torus.X, torus.B)


@pytest.fixture(scope="session")
def casing(torus, rule):
    return vcjax.prepare(rule, torus.X)


@pytest.fixture(scope="session")
def gradient_casing(torus):
    return vcjax.prepare_gradient(chosen(torus.X, torus.B, gradient=True), torus.X)
