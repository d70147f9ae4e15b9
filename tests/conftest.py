"""Settings every test shares: 64-bit floats, strict promotion, array shapes checked at run time."""

import jax
from jaxtyping import install_import_hook

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_dtype_promotion", "strict")

# Before any test module imports vcjax: its annotations then hold at every call.
install_import_hook("vcjax", "beartype.beartype")
