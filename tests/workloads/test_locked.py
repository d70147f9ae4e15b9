"""Compare small programs of the coronagraph with ``jaxmeter.lock.toml``."""

import jax.numpy as jnp
import pytest

from benchmarks.workloads.coronagraph.point_images import fold, unfold


@pytest.mark.jaxmeter_lock
def test_the_programs_that_fold_sources_are_as_locked(jaxmeter):
    assert jaxmeter(fold, jnp.ones((8, 8))).captured_bytes == 0
    assert jaxmeter(unfold, jnp.ones((4, 8, 8))).traces == 1
