"""Compile the programs of public calls with options that save time."""

import gc
import os
import threading
from collections.abc import Callable
from functools import cache, partial, wraps
from typing import Any

import jax
import jax.experimental
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer

# Older versions of JAX have this context manager in another module.
enable_x64: Any = getattr(jax if hasattr(jax, "enable_x64") else jax.experimental, "enable_x64")  # noqa: B009

_FLAGS = os.environ.get("XLA_FLAGS", "")


@cache
def has_avx512() -> bool:
    """Return whether this processor has AVX-512; False on systems other than Linux."""
    try:
        with open("/proc/cpuinfo", errors="replace") as file:
            flags = next((line for line in file if line.startswith("flags")), "")
    except OSError:
        return False
    return {"avx512f", "avx512vl"} <= set(flags.split())


def available_processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _options(**values: Any) -> dict[str, Any]:
    """Return compiler options by name, without options that JAX lacks or that XLA_FLAGS sets.

    With AVX-512, one option sets vectors of 512 bits. With XLA's default of 256 bits, fields and
    gradients take longer (docs/compare.md).
    """
    if jax.__version_info__ >= (0, 11):  # these versions reject this option
        values.pop("xla_cpu_use_fusion_emitters", None)
    if has_avx512():
        values["xla_cpu_prefer_vector_width"] = 512
    return _unset(values)


def _correct() -> dict[str, Any]:
    """Return the options without which some programs return wrong numbers (docs/accuracy.md)."""
    if jax.__version_info__ < (0, 10, 2):
        return {}
    return _unset({"xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT"})


def _unset(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that XLA_FLAGS does not set."""
    return {name: value for name, value in options.items() if name not in _FLAGS}


QUICK = _options(
    xla_backend_optimization_level=1,
    xla_cpu_use_fusion_emitters=False,
    xla_cpu_parallel_codegen_split_count=available_processors(),
)
"""Compiler options that reduce the time and memory of compilation: LLVM optimises less, XLA
translates loops without MLIR (up to JAX 0.10), and XLA divides a program into as many parts as
there are processors. docs/compare.md compares the times with and without these options."""
ONE_THREAD = QUICK | _options(
    xla_cpu_multi_thread_eigen=False, xla_disable_hlo_passes="cpu-parallel-task-assigner"
)
"""The options `QUICK`, and options with which XLA does not divide single operations among the
processors. Programs of many small loops then take less time to run."""


def compiled(
    options: dict[str, Any],
    static_argnums: tuple[int, ...] = (),
    donate_argnums: tuple[int, ...] = (),
) -> Callable[[Callable], Callable]:
    """Return a decorator that compiles like `jax.jit`, with compiler options where JAX takes them.

    JAX takes options only for programs that are called directly. Inside a traced function or a
    derivative, and on accelerators, the program is compiled without options.
    """

    def decorator(function: Callable) -> Callable:
        jit = partial(
            jax.jit, function, static_argnums=static_argnums, donate_argnums=donate_argnums
        )
        nested, direct = jit(), jit(compiler_options=_correct() | options)

        @wraps(function)
        def call(*args, **kwargs):
            leaves = jax.tree.leaves((args, kwargs))
            is_traced = any(isinstance(leaf, Tracer) for leaf in leaves) or is_tracing()
            program = nested if is_traced or jax.default_backend() != "cpu" else direct
            # The functions of vcjax combine arrays of different ranks.
            with jax.numpy_rank_promotion("allow"), _NO_GARBAGE_COLLECTION:
                return program(*args, **kwargs)

        return call

    return decorator


class _Collection:
    """A context manager inside which Python collects no garbage, because JAX may trace there.

    Tracing makes so many objects that Python would search all objects of the process for garbage
    again and again. In a new process, the search takes a fifth of the time of tracing. Several
    threads may be inside at the same time. The last thread that leaves restores the setting that
    the first thread found.
    """

    def __init__(self):
        # A finalizer that calls vcjax may run while this thread holds the lock.
        self._lock, self._inside, self._was_enabled = threading.RLock(), 0, False

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._was_enabled = gc.isenabled()
                gc.disable()
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0 and self._was_enabled:
                gc.enable()


_NO_GARBAGE_COLLECTION = _Collection()


def operands(values: Any) -> Any:
    """Convert arrays to JAX arrays, so that XLA does not compute with them while it compiles.

    In a traced function, a concrete array is a constant of the program. XLA evaluates operations on
    constants while it compiles, and for matrix products this takes seconds. An optimisation barrier
    after the constant prevents this. An array that the traced function has already converted or
    changed is traced, and gets no barrier.
    """

    tracing = is_tracing()

    def operand(value: Any) -> Any:
        if isinstance(value, Tracer):
            return value
        if tracing:
            return lax.optimization_barrier(jnp.asarray(value))
        # The caller may overwrite the array as soon as the call returns. `jnp.asarray` would copy
        # it later, and would compile a program for each shape.
        return jax.device_put(value.copy() if isinstance(value, np.ndarray) else value)

    return jax.tree.map(operand, values)


def is_tracing() -> bool:
    """Return whether JAX is tracing. If it is, operations on concrete arrays are traced as well."""
    return isinstance(jax.device_put(np.zeros(())), Tracer)
