"""Helpers that tests of several files share: casings of problems, errors, captured constants."""

import numpy as np

import vcjax


def casing_of(problem, digits, prepare=vcjax.prepare, **options):
    """Return a casing of a problem: of its field, or of its gradient."""
    rule = vcjax.choose(
        problem.X,
        problem.B,
        digits,
        nfp=problem.nfp,
        half_period=problem.half_period,
        trg_nphi=problem.trg_nphi,
        trg_ntheta=problem.trg_ntheta,
        gradient=prepare is vcjax.prepare_gradient,
    )
    return prepare(rule, problem.X, **options)


def largest_error(value, expected):
    """Return the largest difference over the largest expected value."""
    expected = np.asarray(expected)
    return np.abs(np.asarray(value) - expected).max() / np.abs(expected).max()


def captured_bytes(program):
    """Return the bytes of the constants that a jaxpr captures."""
    return sum(np.asarray(constant).nbytes for constant in program.consts)
