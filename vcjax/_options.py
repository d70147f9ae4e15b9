"""Resolve the options of calls: tile sizes, precision, storage of near weights, and memory limits.

A tile is a part of the sum over sources and targets that is in memory at one time. Each operator
has its own tile sizes. For each size, the first setting in this list that is present applies:

1. the caller's argument, an integer;
2. ``VCJAX_CHUNK_B_SRC`` and ``VCJAX_CHUNK_B_TRG``, each an integer;
3. ``VCJAX_CHUNK_B``, "sources,targets" or one integer for both;
4. the default in ``_GROUPED`` or ``_AUTO`` below. Only the defaults for CPUs were compared with
   other sizes.

These variables are for fields on the surface. For points off the surface, BOFF replaces B in their
names; for gradients on the surface, GRADB replaces B. The environment is read at each call, before
tracing, so that a changed variable takes effect at once. Under an outer ``jit``, the environment is
read when the outer function is traced.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple

import jax
import numpy as np

from vcjax._checks import check_integer
from vcjax._errors import AccuracyWarning, VcjaxError, warn
from vcjax._programs.groups import processor_count
from vcjax._quadrature.rule import FIELD_PARTS, GRADIENT_PARTS, Rule

Operator = Literal["B", "BOFF", "GRADB"]

# (sources, targets) of a tile if targets on the surface are evaluated in groups. Each group runs on
# one processor, and tiles that fit into the cache of this processor take the least time.
_GROUPED = 512, 256
# (sources, targets) of a tile in other cases. On CPUs, all processors then share a tile if its
# targets are on the surface. Such tiles of about a thousand targets take 15 to 20 % less time than
# tiles of a few hundred (docs/chunks.md). For GPUs and TPUs, no other sizes were tried; these sizes
# are large enough to occupy a whole device. Times on a GPU with these sizes are in docs/devices.md.
_AUTO: dict[str, dict[Operator, tuple[int, int]]] = {
    "cpu": {"B": (512, 1280), "BOFF": (2048, 320), "GRADB": (1024, 1280)},
    "gpu": {"B": (16384, 1024), "BOFF": (16384, 1024), "GRADB": (1024, 8192)},
    "tpu": {"B": (8192, 1024), "BOFF": (8192, 1024), "GRADB": (1024, 4096)},
}
# (least number of targets in a block, bytes that a block may take while its near weights are
# computed). On W7-X with one processor, the weights take 0.75 to 0.95 times as long with the blocks
# of "one cpu" as with the blocks of "cpu".
_BLOCKS = {"one cpu": (10, 2**20), "cpu": (1, 2**23), "gpu": (1, 2**28)}
_LARGEST = 2**31 - 1
# Single precision gives 5 digits. For 5 digits `choose` sets the cut-off 3.27, for 6 digits 3.65.
_LARGEST_FLOAT32_CUTOFF = 3.6


class Tiles(NamedTuple):
    """The largest numbers of sources and targets in a tile of the far sum, and the tile's dtype."""

    sources: int
    targets: int
    dtype: str = "float64"


class Setting(NamedTuple):
    """A tile size and its origin: "auto" for a default, or the name of an environment variable."""

    value: int
    origin: str


@dataclass(frozen=True)
class Config:
    """The tile sizes that ``"auto"`` stands for in the current environment.

    `print` shows the sizes as a table. On CPUs they are the sizes of calls outside ``jit`` and
    other transformations, without ``devices``. In other calls, the default tiles for
    targets on the surface are larger; see ``docs/chunks.md``.

    Attributes
    ----------
    backend : JAX's default backend, such as "cpu" or "gpu".
    chunks : maps each variable, such as "VCJAX_CHUNK_B_SRC", to the size in force and its origin.
    """

    backend: str
    chunks: Mapping[str, Setting] = field(hash=False)

    def __str__(self) -> str:
        width = max(map(len, self.chunks))
        lines = [f"{'backend':{width}}  {self.backend}"]
        lines += [f"{name:{width}}  {s.value:<6} {s.origin}" for name, s in self.chunks.items()]
        return "\n".join(lines)


def config() -> Config:
    """Return the tile sizes that ``"auto"`` stands for, and the origin of each.

    Raises
    ------
    VcjaxError : if an environment variable does not contain valid tile sizes.
    """
    backend = jax.default_backend()
    sizes = (_sizes("config", operator, backend == "cpu") for operator in _AUTO["cpu"])
    return Config(backend, MappingProxyType({k: v for each in sizes for k, v in each.items()}))


def resolve_tiles(
    call: str,
    operator: Operator,
    chunk_size: int | str,
    target_chunk_size: int | str,
    dtype: str = "float64",
    grouped: bool = False,
) -> Tiles:
    """Return the tiles of a call, with ``"auto"`` replaced by the size in force.

    If `grouped`, targets are evaluated in groups. Each group runs on one processor; see
    `vcjax._programs.groups`.
    """
    sources, targets = _sizes(call, operator, grouped).values()
    return Tiles(
        _size(call, "chunk_size", chunk_size, sources.value),
        _size(call, "target_chunk_size", target_chunk_size, targets.value),
        dtype,
    )


def resolve_far_dtype(call: str, rule: Rule, far_dtype: str) -> str:
    """Return "float64" or "float32"; "auto" becomes "float32" for quadratures of at most 5 digits.

    On W7-X, "float32" adds an error of at most 3e-6 of max |B|. At half of the targets, this error
    is less than 1e-7.
    """
    allowed = rule.cutoff <= _LARGEST_FLOAT32_CUTOFF
    if far_dtype == "auto":
        return "float32" if allowed else "float64"
    if far_dtype not in ("float64", "float32"):
        raise VcjaxError(
            f'{call} got far_dtype={far_dtype!r}; give "float64", "float32" or "auto".'
        )
    if far_dtype == "float32" and not allowed:
        raise VcjaxError(
            f'{call} got far_dtype="float32" for a quadrature of 6 digits or more, but float32 '
            'keeps only 5 digits. Give "auto" or "float64", or choose a rule with gradient=False '
            "and at most 5 digits."
        )
    return far_dtype


class NearOptions(NamedTuple):
    """Options of the near weights.

    If `streamed`, the weights are recomputed at each evaluation instead of stored. `dtype` is the
    precision of stored weights. `block` is the largest number of targets whose weights are computed
    at once.
    """

    streamed: bool
    dtype: str
    block: int


# Digits that weights in float32 keep. On W7-X and the rotating ellipse these weights add errors of
# about 1e-8 of max |B| to fields, and of up to 3e-5 of max |grad B| to gradients.
_FLOAT32_DIGITS = {FIELD_PARTS: 7, GRADIENT_PARTS: 4}


def resolve_near(
    call: str,
    rule: Rule,
    parts: int,
    near_weights: str,
    near_block_size: int | str,
    *,
    grouped: bool = False,
    devices: int = 1,
) -> NearOptions:
    """Return the near options of a call, and check that stored weights fit into memory.

    `parts` is the number of weights for each node of a patch. If `grouped`, weights are computed in
    groups of target rows, each group on one processor. `devices` is the number of devices that
    store weights.
    """
    if near_weights not in ("float64", "float32", "streamed"):
        raise VcjaxError(
            f'{call} got near_weights={near_weights!r}; give "float64", "float32" or "streamed".'
        )
    target_bytes = rule.radial_count * rule.angular_count * (6 + parts) * 8
    platform = jax.default_backend()
    if platform == "cpu" and (grouped or processor_count() == 1):
        platform = "one cpu"
    least, most = _BLOCKS.get(platform, _BLOCKS["gpu"])
    block = _size(call, "near_block_size", near_block_size, max(least, most // target_bytes))
    if near_weights == "streamed":
        return NearOptions(True, "float64", block)
    kept = _FLOAT32_DIGITS[parts]
    if near_weights == "float32" and rule.digits > kept:
        warn(
            call,
            f'got near_weights="float32" for a rule of {rule.digits} digits, but float32 keeps '
            f'about {kept} digits here; give "float64", or "streamed" to save memory.',
            AccuracyWarning,
        )
    itemsize = np.dtype(near_weights).itemsize
    if shortage := weights_shortage(call, rule, parts, itemsize, devices):
        raise VcjaxError(shortage)
    return NearOptions(False, near_weights, block)


def weights_shortage(call: str, rule: Rule, parts: int, itemsize: int = 8, devices: int = 1) -> str:
    """Return an error message if the near weights of all targets exceed the memory, else ""."""
    return memory_shortage(
        f"{call} got {rule.trg_shape[0]} x {rule.trg_shape[1]} targets: the near weights",
        weights_bytes(rule, parts, itemsize),
        'Prepare with near_weights="streamed", which recomputes the weights at each evaluation, or '
        'with near_weights="float32", which takes half the memory of "float64". Or ask for fewer '
        "targets or digits. Or divide the weights among several accelerators with `devices`.",
        devices,
    )


def weights_bytes(rule: Rule, parts: int, itemsize: int = 8) -> int:
    """Return the bytes of the near weights of all targets, with `parts` weights for each node."""
    patch = (2 * rule.reach_phi + 1) * (2 * rule.reach_theta + 1)
    return rule.target_count * parts * patch * itemsize


def memory_shortage(what: str, needed: int, advice: str, devices: int = 1) -> str:
    """Return an error message if more bytes are needed than the devices have, else "".

    The message begins with `what`: the call, its arguments, and a plural noun for the arrays that
    need the memory. It ends with `advice`.
    """
    available = device_bytes(devices)
    if needed <= available:
        return ""
    owner = "the device has" if devices == 1 else f"the {devices} devices have"
    sizes = f"{needed / 2**30:.3g} GiB, but {owner} {available / 2**30:.3g} GiB"
    return f"{what} need {sizes}. {advice}"


def device_bytes(devices: int = 1) -> int:
    """Return the bytes of memory of several devices, each like the first device of this process.

    Devices of a CPU share the memory that this process may use. If JAX does not report the memory
    of an accelerator, return the largest integer.
    """
    device = jax.local_devices()[0]
    if device.platform != "cpu":
        stats = device.memory_stats() or {}
        return devices * stats["bytes_limit"] if "bytes_limit" in stats else sys.maxsize
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    control_group = Path("/sys/fs/cgroup/memory.max")
    if control_group.exists() and (text := control_group.read_text().strip()).isdigit():
        limits.append(int(text))
    return min(limits)


def _size(call: str, name: str, value: int | str, auto: int) -> int:
    if not isinstance(value, str):
        return check_integer(call, name, value, 1, _LARGEST)
    if value != "auto":
        raise VcjaxError(
            f'{call} got {name}={value!r}; give "auto" or an integer from 1 to {_LARGEST}.'
        )
    return auto


def _sizes(call: str, operator: Operator, grouped: bool) -> dict[str, Setting]:
    """Return the tile sizes of sources and targets, by the names of their environment variables."""
    auto = _AUTO.get(jax.default_backend(), _AUTO["gpu"])[operator]
    if grouped and operator != "BOFF":
        auto = _GROUPED
    name = f"VCJAX_CHUNK_{operator}"
    both = _from_environment(call, name, 2) or [Setting(size, "auto") for size in auto]
    names = f"{name}_SRC", f"{name}_TRG"
    return {n: (_from_environment(call, n, 1) or [b])[0] for n, b in zip(names, both, strict=True)}


def _from_environment(call: str, name: str, count: int) -> list[Setting]:
    """Return `count` sizes from an environment variable, or [] if it is unset or empty.

    A single integer stands for all sizes.
    """
    text = os.environ.get(name, "").strip()
    if not text:
        return []
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > count or not all(_is_size(part) for part in parts):
        wanted = f"an integer from 1 to {_LARGEST}"
        wanted += ', or to two integers "sources,targets"' if count == 2 else ""
        raise VcjaxError(
            f"{call} found {name}={text[:40]!r} in the environment; set it to {wanted}, or unset "
            "it."
        )
    return [Setting(int(part), name) for part in parts] * (count // len(parts))


def _is_size(text: str) -> bool:
    # Check the length first: `int` raises an error for thousands of digits.
    digits = text.isascii() and text.isdigit() and len(text) <= len(str(_LARGEST))
    return digits and 0 < int(text) <= _LARGEST
