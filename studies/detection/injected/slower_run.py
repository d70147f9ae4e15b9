"""A tenth of the evaluation's own time, waited at its end.

The size holds by construction, in every case and in every mood of the machine: the program looks at
the clock before its work and after it, and waits for a share of what has passed.
"""

import time

import jax
import jax.numpy as jnp
import numpy as np

SHARE = 0.1


def inject(vcjax):
    """Stretch the evaluation of the field; what it computes stays what it is."""
    good = vcjax.external_field
    scalar = jax.ShapeDtypeStruct((), jnp.float64)

    def external_field(casing, B, **options):
        start = jax.pure_callback(begun, scalar, B)
        field = good(casing, B + 0.0 * start, **options)
        return field + 0.0 * jax.pure_callback(waited, scalar, start, field)

    vcjax.external_field = external_field


def begun(B):
    """Seconds of the clock."""
    return np.float64(time.perf_counter())


def waited(start, field):
    """Wait for a share of what has passed since `start`."""
    time.sleep(SHARE * (time.perf_counter() - float(start)))
    return np.float64(0.0)
