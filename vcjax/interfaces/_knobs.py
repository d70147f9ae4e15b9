"""The keyword arguments that calls of ``virtual_casing_jax`` take, in vcjax's terms."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from vcjax import Rule, VcjaxError
from vcjax._checks import check_grid, check_integer
from vcjax._quadrature.choose import MAX_DIGITS
from vcjax.interfaces._surface_setup import Wanted

_WHOLE = 2**31 - 1
_MOST_LEVELS = 30
_WITHOUT_EFFECT = ("pou_dtype", "remat", "hedgehog_order", "levels", "max_levels", "adaptive")
_REFUSED = {
    "quad_nt": "the quadrature follows from digits and field",
    "quad_np": "the quadrature follows from digits and field",
    "patch_dim0": "patches follow from digits and surface",
    "patch_idx": "patches follow from digits and surface",
    "X_trg": "for points off the surface call the form with _offsurf",
}


@dataclass(frozen=True)
class Knobs:
    """The keyword arguments of a call.

    Attributes
    ----------
    wanted : of the casing: digits, rule; on the surface how weights of the near part are kept, off
        it the caps of the grid.
    chunks : sizes of the tiles of the sum over pairs.
    donate : the field may be overwritten.
    return_estimate : give the estimated errors as well.
    """

    wanted: Wanted
    chunks: dict[str, int | str]
    donate: bool
    return_estimate: bool


def read_knobs(call: str, kind: str, knobs: dict[str, Any]) -> Knobs:
    """Knobs of a call; those that would change a result unseen are refused.

    Parameters
    ----------
    kind : as for `SurfaceSetup.casing`.
    knobs : as the caller gave them.
    """
    off = kind.startswith("off")
    known = dict(knobs)
    for name, reason in _REFUSED.items():
        if known.pop(name, None) is not None:
            raise VcjaxError(f"{call} got {name}={knobs[name]!r}; leave it None: {reason}.")
    for name in _WITHOUT_EFFECT:
        known.pop(name, None)
    caps, near = _caps(call, known), _near(call, known)
    return_estimate = _flag(call, "return_estimate", known)
    if not off and (caps or return_estimate):
        name = "return_estimate" if return_estimate else "max_Nt or max_Np"
        raise VcjaxError(
            f"{call} got {name}, which belongs to the forms with _offsurf; on the surface leave "
            "it out: vcjax.error_estimate judges a result there, digits bound the grid."
        )
    read = Knobs(
        Wanted(_digits(call, known), _rule(call, known), caps if off else near),
        chunks={
            name: _WHOLE if (size := known.pop(name, "auto")) is None else size
            for name in ("chunk_size", "target_chunk_size")
        },
        donate=_flag(call, "donate", known),
        return_estimate=return_estimate,
    )
    if known:
        raise VcjaxError(f"{call} got {', '.join(sorted(known))}, which it does not know.")
    return read


def build_offsurface_levels(
    nt0: int, np0: int, max_Nt: int = -1, max_Np: int = -1, max_levels: int = 6
) -> tuple[tuple[int, int], ...]:
    """Doubling grids from (nt0, np0) up to the caps, as ``levels=`` takes them.

    For programs that build such a schedule; here the grid is fine enough without, and ``levels``
    has no effect.

    Raises
    ------
    VcjaxError : for sizes that are none, or a first grid above the caps.
    """
    call = "build_offsurface_levels"
    first = check_grid(call, "nt0", nt0), check_grid(call, "np0", np0)
    most = _cap(call, "max_Nt", max_Nt), _cap(call, "max_Np", max_Np)
    count = check_integer(call, "max_levels", max_levels, 1, _MOST_LEVELS)
    levels = [(first[0] * 2**k, first[1] * 2**k) for k in range(count)]
    fitting = tuple(level for level in levels if level[0] <= most[0] and level[1] <= most[1])
    if not fitting:
        raise VcjaxError(
            f"{call} got a first grid {first} above max_Nt={max_Nt}, max_Np={max_Np}; start with "
            "a coarser one or raise the caps."
        )
    return fitting


def _digits(call: str, known: dict[str, Any]) -> int | None:
    digits = known.pop("digits", None)
    return None if digits is None else check_integer(call, "digits", digits, 1, MAX_DIGITS)


def _rule(call: str, known: dict[str, Any]) -> Rule | None:
    rule = known.pop("precision", None)
    if rule is not None and not isinstance(rule, Rule):
        raise VcjaxError(
            f"{call} got precision of type {type(rule).__name__}; give what plan_precision returns."
        )
    return rule


def _caps(call: str, known: dict[str, Any]) -> dict[str, Any]:
    """What bounds the grid off the surface, as `vcjax.choose_off_surface` takes it."""
    names = {"max_Nt": "max_nphi", "max_Np": "max_ntheta"}
    caps = {ours: _cap(call, name, known.pop(name, -1)) for name, ours in names.items()}
    return {name: cap for name, cap in caps.items() if cap != _WHOLE}


def _cap(call: str, name: str, value: Any) -> int:
    """A largest number of nodes, -1 or None for none."""
    none = value is None or (isinstance(value, int | np.integer) and value == -1)
    return _WHOLE if none else check_integer(call, name, value, 1, _WHOLE)


def _near(call: str, known: dict[str, Any]) -> dict[str, int | str]:
    """How weights of the near part are kept, as `vcjax.prepare` takes it."""
    dtype, block = known.pop("patch_dtype", None), known.pop("interp_block_size", "auto")
    if not (block is None or isinstance(block, str)):
        block = check_integer(call, "interp_block_size", block, 1, _WHOLE)
    weights = "float64"
    if not (dtype is None or (isinstance(dtype, str) and dtype == "auto")):
        try:
            weights = np.dtype(dtype).name
        except (TypeError, ValueError):
            weights = "none"
        if weights not in ("float32", "float64"):
            raise VcjaxError(
                f'{call} got patch_dtype={dtype!r}; give "float64", "float32", "auto" or None.'
            )
    if _flag(call, "scan_targets", known):
        weights = "streamed"
    return {"near_weights": weights, "near_block_size": _WHOLE if block is None else block}


def _flag(call: str, name: str, known: dict[str, Any]) -> bool:
    value = known.pop(name, False)
    if not isinstance(value, bool | np.bool_):
        raise VcjaxError(f"{call} got {name}={value!r}; give True or False.")
    return bool(value)
