"""When data are checked.

`choose` checks the data that it gets. What it finds out about the surface is kept, so that each
later field on a casing of that surface is checked too, once. Nothing is traced or compiled. Traced
arrays pass unread, and so do fields on casings that came through `jit`, `jax.tree.map` or a file.
Of fields that lie on an accelerator the first of each casing is copied to the host and checked.
"""

from collections import OrderedDict
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from jax.core import Tracer

from vcjax._checks import is_near
from vcjax._data_checks.findings import warn_of_field, warn_of_rule, warn_of_surface
from vcjax._data_checks.spectrum import Spectrum, field_spectrum
from vcjax._data_checks.surface import WatchedSurface
from vcjax._quadrature.rule import Rule

_KEPT = 4
"""Surfaces that are kept for casings to come."""
_REMEMBERED = 1000
"""Fields of a surface that are remembered as checked."""

_chosen: OrderedDict[Any, WatchedSurface] = OrderedDict()
_watched: "WeakKeyDictionary[Any, WatchedSurface]" = WeakKeyDictionary()


def check_chosen(call: str, rule: Rule, X, B, samples: np.ndarray, spectrum: Spectrum) -> None:
    """Check the surface and the field, each (nphi, ntheta, 3), that a rule was chosen for.

    Parameters
    ----------
    samples : `resample.surface_period` of X.
    spectrum : of the field.
    """
    surface = _surface(rule, np.asarray(X))
    surface.samples = samples
    warn_of_surface(call, surface)
    warn_of_field(call, spectrum, surface)
    surface.checked[hash(np.asarray(B).tobytes())] = None


def watch(call: str, casing: Any, X) -> None:
    """Keep the surface of a casing just prepared, for `check_evaluated`.

    Warn if its rule was chosen for another surface and is too coarse for this one.
    """
    if isinstance(X, Tracer) or isinstance(casing.nodes, Tracer):
        return
    points = np.asarray(X)
    known = _key(casing.rule, points) in _chosen
    _watched[casing] = surface = _surface(casing.rule, points)
    if not known:
        warn_of_rule(call, surface)


def watch_alike(made: Any, casing: Any) -> None:
    """Watch what was made of a casing as the casing is, for its first field."""
    if (surface := _watched.get(casing)) is not None:
        _watched[made] = WatchedSurface(surface.rule, surface.X)


def check_evaluated(call: str, watched: Any, B, *, first_only: bool = False) -> None:
    """Check a field, or the first of a batch (..., nphi, ntheta, 3), unless it was checked before.

    Parameters
    ----------
    watched : a casing, or what was made of it.
    first_only : check the first field of all that are ever given.
    """
    surface = None if isinstance(B, Tracer) else _watched.get(watched)
    if surface is None or (surface.checked and (first_only or not is_near(B))):
        return
    field = np.asarray(B.reshape(-1, *B.shape[-3:])[0])
    digest = hash(field.tobytes())
    if digest in surface.checked or not field.any():
        return
    rule = surface.rule
    spectrum = field_spectrum(np.moveaxis(field, -1, 0), rule.nfp, rule.half_period)
    warn_of_field(call, spectrum, surface)
    surface.checked[digest] = None
    if len(surface.checked) > _REMEMBERED:
        del surface.checked[next(iter(surface.checked))]


def _surface(rule: Rule, X: np.ndarray) -> WatchedSurface:
    key = _key(rule, X)
    if key not in _chosen:
        _chosen[key] = WatchedSurface(rule, X.copy())
        if len(_chosen) > _KEPT:
            _chosen.popitem(last=False)
    return _chosen[key]


def _key(rule: Rule, X: np.ndarray):
    return rule, hash(X.tobytes())
