"""Translate keyword arguments of ``virtual_casing_jax`` to keyword arguments of vcjax."""

from typing import Any, NamedTuple

import numpy as np

from vcjax import Rule, VcjaxError
from vcjax._checks import check_grid, check_integer
from vcjax._quadrature.plan import MAX_DIGITS

_NO_LIMIT = 2**31 - 1
_MAX_LEVELS = 30
# Keywords that are accepted and ignored: vcjax neither extrapolates nor refines, and it bounds its
# memory without these keywords.
_IGNORED = ("pou_dtype", "remat", "hedgehog_order", "levels", "max_levels", "adaptive")
_CAPS = {"max_nphi": "max_Nt", "max_ntheta": "max_Np"}
"""Limits of `vcjax.choose_off_surface`, and the keywords for these limits in virtual_casing_jax."""
NAMES = _CAPS | {
    "got B ": "got B0 ",
    "got points ": "got X_trg ",
    'near_weights="streamed"': "scan_targets=True",
    '"streamed"': "scan_targets=True",
    "near_weights": "patch_dtype",
}
"""Replacements in error messages, because `VirtualCasingJAX` names arguments differently."""
_REFUSED = {
    "quad_nt": "the quadrature follows from digits and field",
    "quad_np": "the quadrature follows from digits and field",
    "patch_dim0": "patches follow from digits and surface",
    "patch_idx": "patches follow from digits and surface",
    "X_trg": "for points off the surface, call the method with _offsurf in its name",
}


class Knobs(NamedTuple):
    """The keyword arguments of a call, translated for vcjax.

    `casing` contains options of `SurfaceSetup.casing`; `chunks` contains ``chunk_size`` and
    ``target_chunk_size``. If `donate`, the result may reuse the memory of the field. If
    `return_estimate`, the estimated errors are returned as well.
    """

    casing: dict[str, Any]
    chunks: dict[str, int | str]
    donate: bool
    return_estimate: bool


def read_knobs(call: str, kind: str, knobs: dict[str, Any]) -> Knobs:
    """Translate the keyword arguments of a call; `kind` is as for `SurfaceSetup.casing`."""
    off = kind.startswith("off")
    known = dict(knobs)
    for name, reason in _REFUSED.items():
        if known.pop(name, None) is not None:
            raise VcjaxError(f"{call} got {name}={knobs[name]!r}; leave {name} out: {reason}.")
    for name in _IGNORED:
        known.pop(name, None)
    caps = {ours: _cap(call, name, known.pop(name, -1)) for ours, name in _CAPS.items()}
    caps = {name: cap for name, cap in caps.items() if cap != _NO_LIMIT}
    near = _near(call, known)
    return_estimate = _flag(call, "return_estimate", known)
    if not off and (caps or return_estimate):
        limits = ", ".join(f"{_CAPS[name]}={cap}" for name, cap in caps.items())
        raise VcjaxError(
            f"{call} got {limits or 'return_estimate=True'}, which only the methods with _offsurf "
            "in their name accept; leave it out. On the surface, vcjax.error_estimate estimates "
            "the error, and the digits determine the quadrature."
        )
    digits, rule = known.pop("digits", None), known.pop("precision", None)
    if digits is not None:
        digits = check_integer(call, "digits", digits, 1, MAX_DIGITS)
    if rule is not None and not isinstance(rule, Rule):
        raise VcjaxError(
            f"{call} got precision of type {type(rule).__name__}; give a rule from plan_precision."
        )
    read = Knobs(
        dict(digits=digits, rule=rule, **(caps if off else near)),
        chunks={
            name: _NO_LIMIT if (size := known.pop(name, "auto")) is None else size
            for name in ("chunk_size", "target_chunk_size")
        },
        donate=_flag(call, "donate", known),
        return_estimate=return_estimate,
    )
    if known:
        raise VcjaxError(
            f"{call} got unknown keywords: {', '.join(sorted(known))}; leave them out."
        )
    return read


def build_offsurface_levels(
    nt0: int, np0: int, max_Nt: int = -1, max_Np: int = -1, max_levels: int = 6
) -> tuple[tuple[int, int], ...]:
    """Return a schedule of grids, each twice as fine as the previous grid, up to the limits.

    This function exists for programs that pass such a schedule as ``levels=``. In vcjax ``levels``
    has no effect, because vcjax chooses a single grid.

    Parameters
    ----------
    nt0, np0 : numbers of toroidal and poloidal points of the first grid.
    max_Nt, max_Np : limits of the numbers of points; -1 means no limit.
    max_levels : largest number of grids.

    Returns
    -------
    tuple of pairs (nt, np)

    Raises
    ------
    VcjaxError : if a size is invalid, or if the first grid exceeds a limit.
    """
    call = "build_offsurface_levels"
    levels = [(check_grid(call, "nt0", nt0), check_grid(call, "np0", np0))]
    caps = _cap(call, "max_Nt", max_Nt), _cap(call, "max_Np", max_Np)
    if levels[0][0] > caps[0] or levels[0][1] > caps[1]:
        raise VcjaxError(
            f"{call} got a first grid {levels[0]} above the limits max_Nt={max_Nt}, "
            f"max_Np={max_Np} (-1 means no limit); start with a coarser grid, or raise the limit "
            "that is exceeded."
        )
    for _ in range(check_integer(call, "max_levels", max_levels, 1, _MAX_LEVELS) - 1):
        nt, np_ = levels[-1]
        levels.append((min(2 * nt, caps[0]), min(2 * np_, caps[1])))
    return tuple(dict.fromkeys(levels))


def _cap(call: str, name: str, value: Any) -> int:
    """Return a maximum number of nodes; -1 and None mean no limit and become `_NO_LIMIT`."""
    unlimited = value is None or (isinstance(value, int | np.integer) and value == -1)
    return _NO_LIMIT if unlimited else check_integer(call, name, value, 1, _NO_LIMIT)


def _near(call: str, known: dict[str, Any]) -> dict[str, int | str]:
    """Remove the keywords for near weights from `known`; return them as options of `prepare`."""
    dtype, block = known.pop("patch_dtype", None), known.pop("interp_block_size", "auto")
    if block is None:
        block = _NO_LIMIT
    elif not (isinstance(block, str) and block == "auto"):
        block = check_integer(call, "interp_block_size", block, 1, _NO_LIMIT)
    is_default = dtype is None or (isinstance(dtype, str) and dtype == "auto")
    try:
        weights = "float64" if is_default else np.dtype(dtype).name
    except (TypeError, ValueError):
        weights = "none"
    if weights not in ("float32", "float64"):
        raise VcjaxError(
            f'{call} got patch_dtype={dtype!r}; give "float64", "float32", "auto" or None.'
        )
    if _flag(call, "scan_targets", known):
        weights = "streamed"
    return {"near_weights": weights, "near_block_size": block}


def _flag(call: str, name: str, known: dict[str, Any]) -> bool:
    value = known.pop(name, False)
    if not isinstance(value, bool | np.bool_):
        raise VcjaxError(f"{call} got {name}={value!r}; give True or False.")
    return bool(value)
