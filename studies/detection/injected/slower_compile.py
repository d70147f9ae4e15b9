"""A fifth of the compiler's own time, waited when it has finished.

The size holds by construction: JAX tells how long compiling took while it is still being timed, and
the plant waits for a share of that. The program stays what it is.
"""

import time

import jax

SHARE = 0.2
COMPILED = "/jax/core/compile/backend_compile_duration"


def inject(vcjax):
    """Stretch the compilation of every program that evaluates the field."""
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
