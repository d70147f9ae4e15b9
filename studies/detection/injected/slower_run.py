"""An evaluation that is longer by a tenth of its own time.

The size of the regression is known by construction, in every case and under any machine noise. The
program reads the clock before and after its work, and then waits for a tenth of the time between
the two readings.
"""

import time

import jax
import jax.numpy as jnp
import numpy as np

SHARE = 0.1


def inject(vcjax):
    """Lengthen the evaluation of the field; the field is unchanged."""
    good = vcjax.external_field
    scalar = jax.ShapeDtypeStruct((), jnp.float64)

    def external_field(casing, B, **options):
        start = jax.pure_callback(begun, scalar, B)
        field = good(casing, B + 0.0 * start, **options)
        return field + 0.0 * jax.pure_callback(waited, scalar, start, field)

    vcjax.external_field = external_field


def begun(B):
    """Return the reading of the clock in seconds."""
    return np.float64(time.perf_counter())


def waited(start, field):
    """Wait for a tenth (`SHARE`) of the time since `start`, and return 0."""
    time.sleep(SHARE * (time.perf_counter() - float(start)))
    return np.float64(0.0)
