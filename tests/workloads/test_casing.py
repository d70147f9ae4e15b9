"""Problems by name: their sizes, their options, and errors."""

import pytest

import vcjax
from benchmarks.workloads.casing import problem_named


@pytest.mark.parametrize(
    "name, digits, nfp, surface, sources, targets",
    [
        ("case_vc", 5, 1, (6, 5), (6, 5), (4, 4)),
        ("case_vc_large", 6, 1, (14, 10), (14, 10), (10, 8)),
        ("w7x", 6, 5, (10, 20), (36, 192), (20, 40)),
        ("rotating_ellipse", 6, 4, (10, 20), (18, 90), (19, 29)),
    ],
)
def test_each_problem_has_the_documented_sizes(name, digits, nfp, surface, sources, targets):
    problem = problem_named(name)
    assert (problem.digits, problem.nfp) == (digits, nfp)
    assert problem.X.shape == (*surface, 3)
    assert problem.B.shape == (*sources, 3)
    assert problem.B_ext.shape == problem.B_int.shape == (*targets, 3)


def test_digits_and_half_period_can_be_chosen():
    problem = problem_named("w7x", digits=2, half_period=False)
    assert problem.digits == 2 and not problem.half_period
    assert problem.B.shape == (24, 64, 3)
    assert problem_named("case_vc", digits=3, half_period=False).digits == 3


def test_an_unknown_name_is_refused_with_the_known_names():
    with pytest.raises(vcjax.VcjaxError, match="'w7y'.*case_vc, case_vc_large, w7x, rotating_el"):
        problem_named("w7y")


@pytest.mark.parametrize("name", ["case_vc", "case_vc_large"])
def test_a_half_period_of_a_torus_is_refused(name):
    with pytest.raises(vcjax.VcjaxError, match=f"{name} got half_period=True.*full torus"):
        problem_named(name, half_period=True)
