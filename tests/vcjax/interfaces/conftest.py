"""Fixtures that tests of the array interfaces share: a problem, casings, and points."""

import jax.numpy as jnp
import numpy as np
import pytest

from tests.vcjax.common import flat, surface
from tests.vcjax.interfaces.common import DIGITS, set_up
from vcjax import problems
from vcjax.interfaces import VirtualCasing, VirtualCasingJAX


@pytest.fixture(scope="session")
def problem():
    """Return a problem with enough sources for gradients."""
    return problems.rotating_ellipse(DIGITS + 2)


@pytest.fixture(scope="session")
def B(problem):
    return jnp.moveaxis(jnp.asarray(problem.B), -1, 0)


@pytest.fixture(scope="session")
def casing(problem):
    return set_up(VirtualCasing(), problem, 4, 6)


@pytest.fixture(scope="session")
def named(problem):
    return set_up(VirtualCasingJAX(), problem, 4, 6)


@pytest.fixture(scope="session")
def points(problem):
    """Return 18 points: 6 inside at the distance 0.02, 6 outside at 0.02, and 6 outside at 0.3."""
    normal = set_up(VirtualCasing(), problem, 2, 3).get_normal().reshape(3, 6).T
    near = surface(problem, 2, 3).reshape(6, 3)
    return np.concatenate([near - 0.02 * normal, near + 0.02 * normal, near + 0.3 * normal])


@pytest.fixture(scope="session")
def off_surface(problem, casing, points):
    """Return the external and the internal field at all points, shape (18, 3) each."""
    arguments = flat(problem.B), flat(points)
    return {
        part: getattr(casing, f"compute_{part}_B_offsurf")(*arguments).reshape(3, -1).T
        for part in ("external", "internal")
    }
