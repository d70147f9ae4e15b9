"""Tile sizes of the far field: one place that says what ``"auto"`` means."""

import jax

from vcjax._checks import check_integer
from vcjax._errors import VcjaxError

# (sources, targets) of a tile. On a CPU any tile from 0.1 to 1 million pairs is as fast on one
# thread; several threads share a tile, so it should not be small. Other devices: not measured,
# enough pairs in flight to fill their memory system.
_AUTO = {"cpu": (2048, 320), "gpu": (16384, 1024), "tpu": (8192, 1024)}


def resolve_chunks(
    call: str, chunk_size: int | str, target_chunk_size: int | str
) -> tuple[int, int]:
    """Sizes as integers; ``"auto"`` depends on the backend only."""
    auto = _AUTO.get(jax.default_backend(), _AUTO["gpu"])
    return (
        _resolve(call, "chunk_size", chunk_size, auto[0]),
        _resolve(call, "target_chunk_size", target_chunk_size, auto[1]),
    )


def _resolve(call: str, name: str, value: int | str, auto: int) -> int:
    if isinstance(value, str):
        if value != "auto":
            raise VcjaxError(f'{call} got {name}={value!r}; give "auto" or a positive integer.')
        return auto
    return check_integer(call, name, value, 1, 2**31 - 1)
