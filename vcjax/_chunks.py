"""Tile sizes of the far field: the one place that says what ``"auto"`` means.

A tile is the part of a sum over sources at targets that is in memory at a time. Each operator has
its own sizes, found in this order:

1. the caller's argument, an integer;
2. ``VCJAX_CHUNK_B_SRC`` and ``VCJAX_CHUNK_B_TRG``, each an integer;
3. ``VCJAX_CHUNK_B``, "sources,targets" or one integer for both;
4. what is best for the backend, as measured below;

with BOFF or GRADB in place of B for the other operators. The environment is read at each call,
before anything is traced, so that a changed variable takes effect at once. Under an outer ``jit``
it is read when that is traced.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, NamedTuple

import jax

from vcjax._checks import check_integer
from vcjax._errors import VcjaxError

Operator = Literal["B", "BOFF", "GRADB"]

# (sources, targets) of a tile. On a CPU sizes hardly matter to one thread; several threads share a
# tile, and one of about a thousand targets takes 15 to 20 % less time than one of a few hundred
# (docs/chunks.md). Derivatives of the field are slower where a tile is too large for the cache.
# Other devices: not measured, enough pairs in flight to fill their memory system.
_AUTO: dict[str, dict[Operator, tuple[int, int]]] = {
    "cpu": {"B": (512, 1280), "BOFF": (2048, 320), "GRADB": (1024, 1280)},
    "gpu": {"B": (16384, 1024), "BOFF": (16384, 1024), "GRADB": (1024, 8192)},
    "tpu": {"B": (8192, 1024), "BOFF": (8192, 1024), "GRADB": (1024, 4096)},
}
_LARGEST = 2**31 - 1


class Setting(NamedTuple):
    """An integer and where it came from: "auto", "argument", or an environment variable."""

    value: int
    origin: str


@dataclass(frozen=True)
class Config:
    """What ``"auto"`` means here and now; ``print(vcjax.config())`` shows it as a table.

    Attributes
    ----------
    backend : JAX's default backend, "cpu", "gpu" or "tpu".
    chunks : for each variable, such as "VCJAX_CHUNK_B_SRC", the value in force and its origin.
    """

    backend: str
    chunks: Mapping[str, Setting] = field(hash=False)

    def __str__(self) -> str:
        width = max(map(len, self.chunks))
        lines = [f"{'backend':{width}}  {self.backend}"]
        lines += [f"{name:{width}}  {s.value:<6} {s.origin}" for name, s in self.chunks.items()]
        return "\n".join(lines)


def config() -> Config:
    """The tile sizes that ``"auto"`` stands for, and where each came from.

    Raises
    ------
    VcjaxError : for an environment variable that is no size.
    """
    operators: tuple[Operator, ...] = ("B", "BOFF", "GRADB")
    chunks = {}
    for operator in operators:
        sizes = _sizes("config", operator)
        chunks |= zip(_names(operator), sizes, strict=True)
    return Config(jax.default_backend(), MappingProxyType(chunks))


def resolve_chunks(
    call: str, operator: Operator, chunk_size: int | str, target_chunk_size: int | str
) -> tuple[int, int]:
    """Sources and targets of a tile as integers."""
    sizes = _sizes(call, operator)
    return (
        _argument(call, "chunk_size", chunk_size, sizes[0]),
        _argument(call, "target_chunk_size", target_chunk_size, sizes[1]),
    )


def _argument(call: str, name: str, value: int | str, setting: Setting) -> int:
    if isinstance(value, str):
        if value != "auto":
            raise VcjaxError(f'{call} got {name}={value!r}; give "auto" or a positive integer.')
        return setting.value
    return check_integer(call, name, value, 1, _LARGEST)


def _names(operator: Operator) -> tuple[str, str]:
    return f"VCJAX_CHUNK_{operator}_SRC", f"VCJAX_CHUNK_{operator}_TRG"


def _sizes(call: str, operator: Operator) -> tuple[Setting, Setting]:
    """Sizes where the caller gives none."""
    auto = _AUTO.get(jax.default_backend(), _AUTO["gpu"])[operator]
    both = _from_environment(call, f"VCJAX_CHUNK_{operator}", 2)
    sources, targets = (
        _from_environment(call, name, 1) or both[k : k + 1] or (Setting(auto[k], "auto"),)
        for k, name in enumerate(_names(operator))
    )
    return sources[0], targets[0]


def _from_environment(call: str, name: str, most: int) -> tuple[Setting, ...]:
    """As many settings as `most` from one variable; none if it is unset or empty."""
    text = os.environ.get(name, "").strip()
    if not text:
        return ()
    parts = [part.strip() for part in text.split(",")]
    good = all(_is_size(part) for part in parts)
    if not good or len(parts) > most:
        wanted = "one positive integer" + (', or "sources,targets"' if most == 2 else "")
        raise VcjaxError(
            f"{call} found {name}={text[:40]!r} in the environment; set it to {wanted}, or unset "
            "it."
        )
    values = [Setting(int(part), name) for part in parts]
    return tuple(values * (most // len(values)))


def _is_size(text: str) -> bool:
    # No longer than the largest: Python refuses to read numbers of thousands of digits.
    digits = text.isascii() and text.isdigit() and len(text) <= len(str(_LARGEST))
    return digits and 0 < int(text) <= _LARGEST
