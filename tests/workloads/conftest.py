"""A fixture for the tests of workloads."""

import jax
import pytest


@pytest.fixture(scope="module")
def full_precision():
    """Multiply matrices of float32 numbers in float32; GPUs use TensorFloat-32 by default."""
    with jax.default_matmul_precision("highest"):
        yield
