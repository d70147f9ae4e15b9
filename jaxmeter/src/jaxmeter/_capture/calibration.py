"""Measure the compile time that embedded arrays cost on this machine, and store the result.

Compile time grows in proportion to the embedded bytes. Constant folding costs extra time, which is
not measured here.
"""

from __future__ import annotations

import hashlib
import os
import statistics
import time
from pathlib import Path

import jax
import numpy as np

from jaxmeter._measure.environment import host_environment, jax_environment
from jaxmeter._measure.phases import Clock, no_persistent_cache
from jaxmeter._records.audit import MEGABYTE_BYTES, Calibration
from jaxmeter._records.files import file_errors, read_file, write_file
from jaxmeter.errors import FileError, RecordError

_MEGABYTES = 32
_ROUNDS = 9


def calibrate(*, clock: Clock = time.perf_counter) -> Calibration:
    """Measure the compile time of embedded arrays, and store the result for `jaxmeter.audit`.

    The measurement takes a few seconds. A program that embeds an array of 32 MB and a program that
    embeds a small array are lowered and compiled alternately, nine times each. The result is the
    median of the nine time differences, divided by 32; negative differences count as 0. The result
    is stored in ``$XDG_CACHE_HOME/jaxmeter``, by default ``~/.cache/jaxmeter``. The stored result
    is valid only for this user, version of JAX, backend, kind of device and model of processor.

    Parameters
    ----------
    clock : callable
        A function that returns the time in seconds.

    Returns
    -------
    Calibration
        The compile time in seconds per embedded megabyte, with all samples.

    Raises
    ------
    JaxmeterError
        If the result cannot be stored.
    """
    array = jax.numpy.asarray(
        np.random.default_rng(0).normal(size=_MEGABYTES * MEGABYTE_BYTES // 4), "float32"
    )
    small = array[:250]
    with no_persistent_cache():
        _compile_seconds(small, clock)  # the first compile also sets up the compiler
        pairs = [
            (_compile_seconds(array, clock), _compile_seconds(small, clock)) for _ in range(_ROUNDS)
        ]
    samples = tuple(max(large - least, 0.0) / _MEGABYTES for large, least in pairs)
    made = Calibration(
        seconds_per_megabyte=statistics.median(samples),
        samples_seconds_per_megabyte=samples,
        measured_utc=host_environment().started_utc,
        **_here(),
    )
    file = _file()
    with file_errors("calibrate", file, "set XDG_CACHE_HOME to a writable folder"):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_file(file, made.to_json(indent=2) + "\n")
    return made


def calibration() -> Calibration | None:
    """Return the stored calibration if it is valid here (see `calibrate`), or else None."""
    try:
        found = Calibration.from_json(read_file(_file()))
    except (OSError, FileError, RecordError):
        return None
    here = _here()
    return found if all(getattr(found, name) == value for name, value in here.items()) else None


def _compile_seconds(array: jax.Array, clock: Clock) -> float:
    def captures(x: jax.Array) -> jax.Array:
        return array * x

    traced = jax.jit(captures).trace(jax.ShapeDtypeStruct((), array.dtype))
    start = clock()
    traced.lower().compile()
    return clock() - start


def _here() -> dict[str, str]:
    environment, host = jax_environment(), host_environment()
    here = {name: environment[name] for name in ("jax", "backend", "device_kind")}
    # If the processor's model is unknown, use the name of the machine, so that different machines
    # do not share a calibration.
    return here | {"cpu_model": host.cpu_model or host.machine}


def _file() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    # Machines of different kinds have separate files, because they may share a home directory.
    digest = hashlib.sha256(repr(_here()).encode()).hexdigest()[:12]
    return Path(cache, "jaxmeter", f"calibration-{digest}.json")
