"""Decide which surfaces and fields are checked, and check each of them once.

`choose` and similar calls check X and B. `prepare` and similar calls check X, unless an earlier
call had the same X and rule; the last `_KEPT` pairs of X and a rule are remembered. Evaluations
check their field, or the first field of a batch, unless it is zero or was checked before. A
`DenseOperator` checks one field only. Nothing is traced or compiled. A field is not checked if it
is traced or divided among processes, or if its casing went through `jit`, `jax.tree.map` or a file.
The check of a field in the memory of an accelerator copies the field to the host. Such a field is
therefore checked only if no field was checked before with the same rule and surface.
"""

from collections import OrderedDict
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from jax.core import Tracer

from vcjax._checks import in_host_memory
from vcjax._data_checks.findings import (
    WatchedSurface,
    warn_of_field,
    warn_of_outlier,
    warn_of_rule,
)
from vcjax._data_checks.spectrum import Spectrum, field_spectrum
from vcjax._geometry.nodes import on_host
from vcjax._quadrature.rule import Rule

_KEPT = 4
"""Largest number of pairs of a surface and a rule that are kept for later casings."""
_REMEMBERED = 1000
"""Largest number of fields of a surface that are remembered as checked."""

_chosen: OrderedDict[Any, WatchedSurface] = OrderedDict()
_watched: "WeakKeyDictionary[Any, WatchedSurface]" = WeakKeyDictionary()


def check_chosen(call: str, rule: Rule, X, B, samples: np.ndarray, spectrum: Spectrum) -> None:
    """Check the surface X and the field B that a rule was chosen for; warn if they are doubtful.

    `samples` is ``symmetry.surface_period`` of X; `spectrum` is ``field_spectrum`` of B.
    """
    surface = _surface(rule, np.asarray(X))
    surface.samples = samples
    warn_of_outlier(call, "X", surface.spectrum, surface.minor_radius, rule)
    warn_of_field(call, spectrum, surface, reused=False)
    surface.checked[hash(np.asarray(B).tobytes())] = None


def watch(call: str, casing: Any, X) -> None:
    """Keep the surface of a newly prepared casing for `check_evaluated`.

    Warn if the casing's rule was chosen for another surface and is too coarse for X. Do nothing if
    the casing is traced, or if NumPy cannot read X.
    """
    if isinstance(casing.nodes, Tracer) or not on_host(X):
        return
    points = np.asarray(X)
    known = _key(casing.rule, points) in _chosen
    _watched[casing] = surface = _surface(casing.rule, points)
    if not known:
        warn_of_rule(call, surface)


def watch_alike(made: Any, casing: Any) -> None:
    """Register `made`, a `DenseOperator` of the casing, for `check_evaluated`.

    Fields given to `made` are then checked against the surface that `watch` kept for the casing. If
    `watch` kept no surface, do nothing.
    """
    if (surface := _watched.get(casing)) is not None:
        _watched[made] = WatchedSurface(surface.rule, surface.X)


def check_evaluated(call: str, watched: Any, B, *, first_only: bool = False) -> None:
    """Check a field, or the first field of a batch, unless it is zero or was checked before.

    `watched` is a casing, or an object given to `watch_alike`. If `first_only` is True, do
    nothing if any field was checked before on the surface of `watched`.
    """
    surface = _watched.get(watched) if on_host(B) else None
    if surface is None or (surface.checked and (first_only or not in_host_memory(B))):
        return
    # Convert B first: while JAX traces, reshaping a JAX array would give a traced array.
    field = np.asarray(B).reshape(-1, *B.shape[-3:])[0]
    digest = hash(field.tobytes())
    if digest in surface.checked or not field.any():
        return
    rule = surface.rule
    spectrum = field_spectrum(np.moveaxis(field, -1, 0), rule.nfp, rule.half_period)
    warn_of_field(call, spectrum, surface, reused=True)
    surface.checked[digest] = None
    if len(surface.checked) > _REMEMBERED:
        del surface.checked[next(iter(surface.checked))]


def _surface(rule: Rule, X: np.ndarray) -> WatchedSurface:
    """Return the stored surface for a pair of X and a rule, and make it the last to be dropped."""
    key = _key(rule, X)
    _chosen[key] = surface = _chosen.pop(key, None) or WatchedSurface(rule, X.copy())
    if len(_chosen) > _KEPT:
        _chosen.popitem(last=False)
    return surface


def _key(rule: Rule, X: np.ndarray):
    return rule, hash(X.tobytes())
