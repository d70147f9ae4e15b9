"""Fixtures that tests of several files share."""

import pytest
from jaxtyping import config as jaxtyping_config


@pytest.fixture(scope="module")
def no_shape_checks():
    """Run without the annotation checks of the tests, as users do, to see vcjax's own errors."""
    jaxtyping_config.update("jaxtyping_disable", True)
    yield
    jaxtyping_config.update("jaxtyping_disable", False)
