"""A second copy of the near weights, in memory while the field is computed."""

import dataclasses

import jax


def inject(vcjax):
    """Copy the near weights before the evaluation; the compiler cannot remove this copy."""
    good = vcjax.external_field

    def external_field(casing, B, **options):
        weights, scale = jax.lax.optimization_barrier((casing.near_weights, B[0, 0, 0] * 0 + 1))
        copied = dataclasses.replace(casing, near_weights=weights * scale)
        return good(copied, B, **options)

    vcjax.external_field = external_field
