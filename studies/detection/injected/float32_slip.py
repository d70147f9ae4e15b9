"""A total field that is rounded to single precision before it is separated."""

import jax.numpy as jnp


def inject(vcjax):
    """Round the total field to seven digits before it is separated."""
    good = vcjax.external_field

    def external_field(casing, B, **options):
        return good(casing, B.astype(jnp.float32).astype(B.dtype), **options)

    vcjax.external_field = external_field
