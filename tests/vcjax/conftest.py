"""A fixture that several test files share."""

import pytest
from jaxtyping import config as jaxtyping_config


@pytest.fixture(scope="module")
def no_shape_checks():
    """Turn off the annotation checks, which users do not have, to see vcjax's own errors."""
    jaxtyping_config.update("jaxtyping_disable", True)
    yield
    jaxtyping_config.update("jaxtyping_disable", False)
