"""Describe the environment of a measurement: versions, machine, backend, options, load."""

from __future__ import annotations

import contextlib
import datetime
import importlib.metadata
import os
import platform
import re
from pathlib import Path
from typing import Any

from jaxmeter._records.record import Environment, Scalar
from jaxmeter.version import VERSION

HOST_VARIABLE = "JAXMETER_HOST"
"""The environment variable for the name of the host. Set it if the host's own name changes, as in
CI."""

JAX_OPTIONS = (
    "jax_enable_x64",
    "jax_default_matmul_precision",
    "jax_numpy_dtype_promotion",
    "jax_use_simplified_jaxpr_constants",
    "jax_enable_compilation_cache",
    "jax_compilation_cache_dir",
    "jax_disable_jit",
    "jax_debug_nans",
    "jax_default_device",
    "jax_platforms",
    "jax_threefry_partitionable",
)
"""Options of JAX that change a program or the compile of a program."""


def host_environment() -> Environment:
    """Return the environment without importing JAX. Fields that need JAX, such as the backend, are
    None or empty. The versions of JAX and jaxlib are read from the installed packages."""
    has_affinity = hasattr(os, "sched_getaffinity")
    return Environment(
        python=platform.python_version(),
        jax=_version("jax"),
        jaxlib=_version("jaxlib"),
        numpy=_version("numpy"),
        jaxmeter=VERSION,
        platform=platform.platform(),
        machine=os.environ.get(HOST_VARIABLE, "").strip() or platform.node(),
        cpu_model=_cpu_model(),
        cpus_available=len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count(),
        ram_bytes=_ram_bytes(),
        backend=None,
        device_kind=None,
        device_count=None,
        xla_flags=os.environ.get("XLA_FLAGS", ""),
        started_utc=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        load_1min_before=load_1min(),
    )


def jax_environment() -> dict[str, Any]:
    """Return the fields of `jaxmeter.Environment` that need JAX, by name; start the backend if
    necessary."""
    import jax

    devices = jax.devices()
    return {
        "jax": jax.__version__,
        "backend": jax.default_backend(),
        "device_kind": devices[0].device_kind,
        "device_count": len(devices),
        "jax_options": {
            name: scalar(getattr(jax.config, name))
            for name in JAX_OPTIONS
            if hasattr(jax.config, name)  # not every version has every option
        },
    }


def load_1min() -> float | None:
    """Return the load average of the last minute; None if unknown."""
    with contextlib.suppress(AttributeError, OSError):
        return os.getloadavg()[0]


def _version(package: str) -> str | None:
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version(package)


def _cpu_model() -> str | None:
    found = None
    with contextlib.suppress(OSError):
        text = Path("/proc/cpuinfo").read_text()
        found = re.search(r"^model name\s*: *(.*?) *$", text, re.MULTILINE)
    return found[1] if found else platform.processor() or None


def _ram_bytes() -> int | None:
    with contextlib.suppress(AttributeError, ValueError, OSError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def scalar(value: Any) -> Scalar:
    """Return a value that a record can store: the value itself, or else its text. A number of NumPy
    or JAX becomes a number of Python."""
    if getattr(value, "shape", None) == ():
        with contextlib.suppress(Exception):  # such as a random key, which is not a number
            value = value.item()
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
