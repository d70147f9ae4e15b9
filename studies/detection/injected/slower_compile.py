"""A compile time that is longer by a fifth of the compiler's own time.

The size of the regression is known by construction. JAX reports the compiler's own time to a
listener while the benchmark still times the compile. The listener sleeps for a fifth of the
reported time. The program is unchanged.
"""

import time

import jax

SHARE = 0.2
COMPILED = "/jax/core/compile/backend_compile_duration"


def inject(vcjax):
    """Lengthen the compile of every program that evaluates the field."""
    good = vcjax.external_field
    traced = []

    def external_field(casing, B, **options):
        field = good(casing, B, **options)
        traced.append(True)
        return field

    def heard(event, duration_secs, **_):
        if event == COMPILED and traced:
            traced.clear()
            time.sleep(SHARE * duration_secs)

    jax.monitoring.register_event_duration_secs_listener(heard)
    vcjax.external_field = external_field
