"""How the near part is kept: stored or streamed weights, their precision, targets at a time."""

from typing import NamedTuple

import jax
import numpy as np

from vcjax._checks import check_integer
from vcjax._errors import VcjaxError
from vcjax._memory import require_weights
from vcjax._quadrature.rule import Rule

# What a block of targets may take while its weights are made.
_BLOCK_BYTES = {"cpu": 2**23, "gpu": 2**28}


class NearOptions(NamedTuple):
    """Options of the near part, resolved.

    Attributes
    ----------
    streamed : weights are recomputed at each evaluation.
    dtype : of stored weights.
    block : largest number of targets treated at once.
    """

    streamed: bool
    dtype: str
    block: int


def resolve_near(
    call: str, rule: Rule, parts: int, near_weights: str, near_block_size: int | str
) -> NearOptions:
    """The options of a call; refuses weights that do not fit into memory."""
    if near_weights not in ("float64", "float32", "streamed"):
        raise VcjaxError(
            f'{call} got near_weights={near_weights!r}; give "float64", "float32" or "streamed".'
        )
    block = _block(call, rule, parts, near_block_size)
    if near_weights == "streamed":
        return NearOptions(True, "float64", block)
    require_weights(call, rule, parts, np.dtype(near_weights).itemsize)
    return NearOptions(False, near_weights, block)


def _block(call: str, rule: Rule, parts: int, value: int | str) -> int:
    if not isinstance(value, str):
        return check_integer(call, "near_block_size", value, 1, 2**31 - 1)
    if value != "auto":
        raise VcjaxError(
            f'{call} got near_block_size={value!r}; give "auto" or a positive integer.'
        )
    target_bytes = rule.radial_count * rule.angular_count * (6 + parts) * 8
    most = _BLOCK_BYTES.get(jax.default_backend(), _BLOCK_BYTES["gpu"])
    return max(1, most // target_bytes)
