"""Settings every test shares: 64-bit floats, strict promotion, array shapes checked at run time,
and quick compiling.

LLVM's optimisation changes no more than rounding, and most programs run for less time than it
takes. Programs of this process, and of processes that tests start, are compiled without it, in one
piece and, where JAX has a choice, with the emitters that give LLVM less to do. Programs that run
longer are compiled by `tests.vcjax.common.optimised`; the test of the README's lines compiles as
users do.
"""

import gc
import os

import jax
from hypothesis import settings
from jaxtyping import install_import_hook

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_dtype_promotion", "strict")

# Before any test module imports vcjax: its annotations then hold at every call.
install_import_hook("vcjax", "beartype.beartype")

# Fuzzing is quick, and the same in every run, unless pytest gets --hypothesis-profile nightly.
settings.register_profile("quick", derandomize=True, database=None, deadline=None, max_examples=60)
settings.register_profile("nightly", deadline=None, max_examples=20_000, print_blob=True)
settings.load_profile("quick")

# Processes that tests start inherit the flags; those of xdist have them already.
quick = "--xla_backend_optimization_level=0 --xla_cpu_parallel_codegen_split_count=1"
if jax.__version_info__ < (0, 11):  # newer versions end a process that names this flag
    quick += " --xla_cpu_use_fusion_emitters=false"
given = os.environ.get("XLA_FLAGS", "")
if quick not in given:
    os.environ["XLA_FLAGS"] = f"{given} {quick}".strip()


def pytest_collection_finish():
    """Leave what was imported to no collection of garbage, and collect less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)
