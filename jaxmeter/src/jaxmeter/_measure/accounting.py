"""Read memory figures: the compiler's memory plan for a program, the current and peak memory of the
process, and the peak memory of the device."""

from __future__ import annotations

import re
import resource
import sys
from pathlib import Path

import jax

_STATUS = Path("/proc/self/status")
_CLEAR_REFS = Path("/proc/self/clear_refs")


def compiler_account(compiled: jax.stages.Compiled) -> dict[str, int | None]:
    """Return the compiler's memory plan and the number of devices, as fields of `jaxmeter.Memory`;
    a field is None if JAX does not report it. On CPU, no field includes the constants of the
    program."""
    stats = compiled.memory_analysis()
    parts = ("argument", "output", "temp", "alias", "generated_code")
    plan = {f"{part}_bytes": getattr(stats, f"{part}_size_in_bytes", None) for part in parts}
    return plan | {"devices_count": _devices_count(compiled)}


def _devices_count(compiled: jax.stages.Compiled) -> int | None:
    """Return the number of devices that a program runs on; None if the number is unknown."""
    try:
        shardings = jax.tree.leaves((compiled.input_shardings, compiled.output_shardings))
    except Exception:  # a program loaded from a file may have no shardings
        return None
    return max((len(sharding.device_set) for sharding in shardings), default=None)


def rss_bytes() -> int | None:
    """Return the current resident set size of this process in bytes; None if the system does not
    report it."""
    return _status_bytes("VmRSS")


def peak_rss_bytes() -> int:
    """Return the peak resident set size of this process in bytes. The peak counts from the last
    successful call of `reset_peak_rss`, or else from the start of the process."""
    # Prefer VmHWM to ru_maxrss. On Linux, exec does not reset ru_maxrss, so a child of a large
    # process would begin with the parent's peak.
    peak = _status_bytes("VmHWM")
    if peak is not None:
        return peak
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def reset_peak_rss() -> bool:
    """Reset the peak resident set size to the current size; return whether the reset succeeded."""
    try:
        _CLEAR_REFS.write_text("5")  # proc(5): 5 resets the peak and nothing else
    except OSError:
        return False
    return True


def device_peak_bytes() -> int | None:
    """Return the peak memory of the first device since the process began, in bytes; None if the
    backend, such as CPU, does not report the peak."""
    stats = jax.local_devices()[0].memory_stats()
    return None if stats is None else stats.get("peak_bytes_in_use")


def _status_bytes(field: str) -> int | None:
    try:
        found = re.search(rf"^{field}:\s*(\d+)", _STATUS.read_text(), re.MULTILINE)
    except OSError:
        return None
    return int(found[1]) * 1024 if found else None
