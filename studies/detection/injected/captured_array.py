"""An array of 64 KB that the evaluation captures instead of taking it as an argument."""

import jax.numpy as jnp
import numpy as np

TABLE = np.linspace(1.0, 2.0, 8192)


def inject(vcjax):
    """Multiply the external field by a factor of 1 that is computed from a captured table."""
    good = vcjax.external_field

    def external_field(casing, B, **options):
        return good(casing, B, **options) * (jnp.asarray(TABLE).mean() / 1.5)

    vcjax.external_field = external_field
