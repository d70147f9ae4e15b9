"""Settings that all tests share: 64-bit floats, strict promotion, shape checks, compiler flags.

Most test programs run for less time than LLVM needs to optimise them, and the optimisation changes
only rounding. Programs of this process, and of processes that tests start, are therefore compiled
without LLVM's optimisation, and are not divided for compiling in parallel. Below JAX 0.11, XLA also
translates loops without MLIR. Some programs that run longer are optimised: see
`tests.vcjax.common.optimised`. The test of the README's example compiles as users do.
"""

import gc
import os
from inspect import isclass
from typing import Any

import jax
import jaxtyping
import pytest
from hypothesis import settings
from jaxtyping import install_import_hook, jaxtyped

# While the tests are imported, nearly all objects stay in use.
gc.set_threshold(100_000, 20, 100)

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_dtype_promotion", "strict")


def checked(*functions, **options):
    """Decorate like `jaxtyping.jaxtyped`, but return functions without annotations unchanged.

    Many of these functions are defined inside others, and would be decorated again in each call.
    """
    if functions:
        return jaxtyped(*functions, **options)

    def decorate(function):
        if isclass(function) or any(kind is not Any for kind in function.__annotations__.values()):
            return jaxtyped(function, **options)
        return function

    return decorate


# Calls check the annotations of vcjax, because no test module has imported vcjax yet. The hook
# decorates every function with `jaxtyping.jaxtyped`.
jaxtyping.jaxtyped = checked
install_import_hook("vcjax", "beartype.beartype")

# Hypothesis tries few inputs, the same in every run. --hypothesis-profile nightly changes this.
settings.register_profile("quick", derandomize=True, database=None, deadline=None, max_examples=60)
settings.register_profile("nightly", deadline=None, max_examples=20_000, print_blob=True)
settings.load_profile("quick")

# Processes that tests start inherit the flags. Workers of xdist have inherited them already.
quick = "--xla_backend_optimization_level=0 --xla_cpu_parallel_codegen_split_count=1"
if jax.__version_info__ < (0, 11):  # newer versions abort at this flag
    quick += " --xla_cpu_use_fusion_emitters=false"
given = os.environ.get("XLA_FLAGS", "")
if quick not in given:
    os.environ["XLA_FLAGS"] = f"{given} {quick}".strip()


def pytest_collection_modifyitems(items):
    """Skip tests that are marked ``cpu`` if JAX runs on another device."""
    if jax.default_backend() != "cpu":
        skip = pytest.mark.skip(reason="the test states facts about CPUs")
        for item in items:
            if item.get_closest_marker("cpu"):
                item.add_marker(skip)


def pytest_collection_finish():
    """Exclude all existing objects from garbage collection."""
    gc.collect()
    gc.freeze()
