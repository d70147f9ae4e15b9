"""Settings every test shares: 64-bit floats, strict promotion, array shapes checked at run time,
and quick compiling.

Most of the tests' time is XLA's compiling, half of that LLVM's optimising, which changes no more
than rounding. Programs of this process go without; those that tests start as processes of their
own, the benchmarks among them, are optimised and check their answers too.
"""

import os

import jax
from jaxtyping import install_import_hook

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_dtype_promotion", "strict")

# Before any test module imports vcjax: its annotations then hold at every call.
install_import_hook("vcjax", "beartype.beartype")

given = os.environ.get("XLA_FLAGS")
os.environ["XLA_FLAGS"] = f"{given or ''} --xla_backend_optimization_level=0"
jax.jit(lambda x: x + 1)(0.0)  # the flags are read once, here
if given is None:
    del os.environ["XLA_FLAGS"]
else:
    os.environ["XLA_FLAGS"] = given
