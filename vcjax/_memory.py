"""Does it fit? What large arrays need is asked before they are made."""

import os
import warnings
from pathlib import Path

import jax

from vcjax._errors import VcjaxError
from vcjax._quadrature.rule import Rule

FIELD_PARTS = 4
GRADIENT_PARTS = 12
"""Numbers kept for every node of a patch."""


def weight_bytes(rule: Rule, parts: int, itemsize: int = 8) -> int:
    """Bytes of the near weights of all targets."""
    patch = (2 * rule.reach_phi + 1) * (2 * rule.reach_theta + 1)
    return rule.trg_shape[0] * rule.trg_shape[1] * parts * patch * itemsize


def device_bytes() -> int:
    """Memory of the default device; on a CPU, what this process may use of the machine's."""
    stats = jax.local_devices()[0].memory_stats()
    if stats and "bytes_limit" in stats:
        return int(stats["bytes_limit"])
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    control_group = Path("/sys/fs/cgroup/memory.max")
    if control_group.exists() and (text := control_group.read_text().strip()).isdigit():
        limits.append(int(text))
    return min(limits)


def require_memory(call: str, what: str, needed: int, advice: str) -> None:
    """Refuse arrays that the device cannot hold.

    Raises
    ------
    VcjaxError : naming what is needed, what there is, and what to try.
    """
    available = device_bytes()
    if needed > available:
        raise VcjaxError(f"{call}: {_shortage(what, needed, available)} {advice}")


def warn_of_weights(call: str, rule: Rule, parts: int) -> None:
    """Warn early of near weights that preparing the surface will refuse to store."""
    needed, available = weight_bytes(rule, parts), device_bytes()
    if needed > available:
        warnings.warn(
            f"{call}: {_shortage(_WEIGHTS.format(rule.trg_shape), needed, available)} "
            + WEIGHT_ADVICE,
            stacklevel=3,
        )


def require_weights(call: str, rule: Rule, parts: int, itemsize: int) -> None:
    """Refuse to store near weights that do not fit."""
    needed = weight_bytes(rule, parts, itemsize)
    require_memory(call, _WEIGHTS.format(rule.trg_shape), needed, WEIGHT_ADVICE)


_WEIGHTS = "the near weights of {} targets"
WEIGHT_ADVICE = (
    'Prepare with near_weights="streamed", which recomputes them at each evaluation, '
    'or "float32", which halves them; or ask for fewer targets or digits.'
)


def _shortage(what: str, needed: int, available: int) -> str:
    return f"{what} need {needed / 2**30:.3g} GiB, and there are {available / 2**30:.3g} GiB."
