"""Audit captured arrays: find where a function holds and uses them, and estimate their cost."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Annotated, Any

import jax
import numpy as np
from msgspec import Meta

from jaxmeter._capture.calibration import calibration
from jaxmeter._capture.constants import (
    captured_values,
    embedded_constants,
    embedded_counts,
    hidden_arguments,
    identity,
    repeats_count,
)
from jaxmeter._capture.folding import foldings
from jaxmeter._capture.functions import named_arguments
from jaxmeter._capture.holders import UNKNOWN, Holder, Kind, Root, held_arrays
from jaxmeter._capture.uses import uses_of
from jaxmeter._measure.case import Case, case_of, name_of
from jaxmeter._measure.failures import beginning_in_users_code, is_for_filter_jit
from jaxmeter._measure.jits import jit_of
from jaxmeter._measure.staging import staged
from jaxmeter._records.audit import DEFAULT_THRESHOLD_BYTES, Audit, AuditedArray, Calibration, Match
from jaxmeter._records.plain_data import checked
from jaxmeter._render.units import bytes_text, seconds_text

_NOT_HELD = Holder(None, "", UNKNOWN)
_FILTER_JIT = "equinox.filter_jit in place of jax.jit"
_PASS_IT = "give {name} an argument {root} and pass {root} in the call"
_SUGGESTIONS: dict[Kind, str] = {
    "closure": _PASS_IT,
    "global": _PASS_IT,
    "class": "give {name} an argument for the arrays of the class {root}, and pass them in the "
    "call",
    "self": "jit a function that takes self as an argument{example}, and make the class of self a "
    "pytree",
    "default": "pass {root} in the call and not as a default",
    "partial": "pass {root} in the call and not in a partial",
    "argument": "make the array a leaf of the argument {root}, because static parts of an argument "
    "become constants",
    "unknown": "pass the array as an argument; if {name} makes the array while it is traced, make "
    "the array before the call",
}

_OPTIONS = {
    "donated": "donate_argnums",
    "in_shardings_leaves": "in_shardings",
    "in_layouts_leaves": "in_shardings",
    "out_shardings_leaves": "out_shardings",
    "out_layouts_leaves": "out_shardings",
    "keep_unused": "keep_unused",
    "device": "device",
    "backend": "backend",
    "inline": "inline",
    "compiler_options_kvs": "compiler_options",
}
"""The fields of the attribute ``_jit_info``, with the options of `jax.jit` that they are for."""


@beginning_in_users_code
def audit(
    fn: Case | Callable[..., Any],
    *args: Any,
    threshold_bytes: int = DEFAULT_THRESHOLD_BYTES,
    **kwargs: Any,
) -> Audit:
    """Find the arrays that a function captures, without compiling or running the function.

    Parameters
    ----------
    fn : Case or callable
        The function, jitted or not, or a `Case`, which may have options for `jax.jit`.
    *args, **kwargs : Any
        The arguments of the function. Arrays may be replaced by `jax.ShapeDtypeStruct`.
    threshold_bytes : int
        A variable is fine to embed up to this size in bytes. The size of a variable is the sum of
        the bytes of its embedded arrays. An array that is embedded twice counts twice. An array
        without a path counts as a variable. The default is 1 MB.

    Returns
    -------
    Audit
        The captured arrays with verdicts and suggestions, and the operations that the compiler
        folds slowly.

    Raises
    ------
    JaxmeterError
        If ``fn``, an argument or a jit option cannot be used.
    Exception
        Any exception that is raised while the function is traced or lowered.

    Notes
    -----
    The path of a captured array shows where the function holds the array, such as
    ``self.weights[0]``. The code of a function may also make a new array during the trace, for
    example with ``weights.T`` if ``weights`` is a numpy array. A new array with fewer than two
    elements has no path. Any other new array gets the path of a held array that shares memory with
    the new array, or else the path of a held array with the same shape and values. If there is no
    such held array, the new array has no path.
    """
    case = case_of("audit", fn, args, kwargs)
    checked("audit", "threshold_bytes", threshold_bytes, Annotated[int, Meta(ge=0)])
    jaxpr, lowered = staged(case, "audit")
    values = captured_values(jaxpr)
    arrays = {key: array for key, (array, _) in values.items()}
    embedded = embedded_constants(lowered)
    embedded_bytes = sum(constant.bytes for constant in embedded)
    hidden = hidden_arguments(lowered)
    hidden_counts = collections.Counter(identity(array) for array in hidden or ())
    counts = embedded_counts(embedded, arrays)
    held = holders_of(case.fn, arrays, named_arguments(case.fn, case.args, case.kwargs))
    uses = uses_of(jaxpr, arrays)
    # An array that no variable holds counts as a variable of its own.
    variables = {key: held[key][0].root if key in held else key for key in values}
    repeats = {key: repeats_count(array) for key, array in arrays.items()}
    held_bytes: collections.Counter[Hashable] = collections.Counter()
    for key, (_, description) in values.items():
        held_bytes[variables[key]] += description.bytes // repeats[key] * counts[key]
    # XLA folds no operation on a constant that is repeated first.
    folded = {key for key, count in counts.items() if count and repeats[key] == 1}
    known = calibration()
    audited = []
    for key, (_, description) in values.items():
        holder, match = held.get(key, (_NOT_HELD, "unknown"))
        size = held_bytes[variables[key]]
        large = size > threshold_bytes and counts[key] > 0
        audited.append(
            AuditedArray(
                **dataclasses.asdict(description),
                path=holder.path,
                match=match,
                argument=holder.root.name,
                uses=uses.get(key, ()),
                embedded_count=counts[key],
                hidden_count=hidden_counts[key],
                verdict="large" if large else "fine",
                suggestion=_suggestion(holder.root, case, size, known) if large else "",
                repeats_count=repeats[key],
            )
        )
    audited.sort(key=lambda array: (-array.bytes * max(array.embedded_count, 1), array.path))
    return Audit(
        name=name_of(case.fn),
        threshold_bytes=threshold_bytes,
        arrays=tuple(audited),
        captured_bytes=sum(array.bytes for array in audited),
        embedded_bytes=embedded_bytes,
        embedded_count=len(embedded),
        hidden_argument_bytes=None
        if hidden is None
        else sum(array.bytes * array.hidden_count for array in audited),
        jax=jax.__version__,
        embedding_seconds=None if known is None else known.seconds(embedded_bytes),
        foldings=foldings(jaxpr, folded),
    )


def holders_of(
    fn: Callable[..., Any], arrays: dict[Hashable, Any], arguments: Mapping[str, Any]
) -> dict[Hashable, tuple[Holder, Match]]:
    """Return a dictionary from the `identity` of each captured array to a holder and a match.

    The match is ``same`` if the captured array is the holder's array, ``view`` if the captured
    array is a view of the holder's array, and ``equal`` if the two arrays have equal values.
    Captured arrays without a holder are left out.
    """
    found: dict[Hashable, tuple[Holder, Match]] = {}
    holders = []
    for holder in held_arrays(fn, arguments):
        holders.append(holder)
        key = identity(holder.value)
        if key in arrays:
            found.setdefault(key, (holder, "same"))
        if len(found) == len(arrays):
            return found
    for key, array in arrays.items():
        if key not in found and (likeness := _likeness(array, holders)) is not None:
            found[key] = likeness
    return found


def _likeness(array: Any, holders: Iterable[Holder]) -> tuple[Holder, Match] | None:
    """Return a holder and the match ``view`` if a held array shares memory with ``array``.
    Otherwise, return a holder and the match ``equal`` if a held array has the same shape and
    values.

    Return None if no held array matches. Also return None if ``array`` contains random keys or has
    fewer than two elements.
    """
    value = getattr(array, "val", array)
    if jax.numpy.issubdtype(value.dtype, jax.dtypes.extended) or value.size < 2:
        return None
    for holder in holders:
        if isinstance(value, np.ndarray) and isinstance(holder.value, np.ndarray):
            # np.may_share_memory is also true for two columns of a table, which share no memory.
            if np.shares_memory(value, holder.value):
                return holder, "view"
    value = np.asarray(value)
    for holder in holders:
        if holder.value.shape == value.shape and _equal(holder.value, value):
            return holder, "equal"
    return None


def _equal(held: Any, value: np.ndarray) -> bool:
    if jax.numpy.issubdtype(held.dtype, jax.dtypes.extended):
        return False
    if isinstance(held, jax.Array) and (held.is_deleted() or not held.is_fully_addressable):
        return False
    # A captured array may be a held array after a conversion, such as from float64 to float32. A
    # conversion to another kind, such as from int64 to uint32, must keep the values of all numbers.
    if not np.can_cast(held.dtype, value.dtype, "same_kind"):
        is_numeric = {held.dtype.kind, value.dtype.kind} <= set("biufc")
        return is_numeric and np.array_equal(np.asarray(held), value)
    with np.errstate(all="ignore"):
        return np.asarray(held).astype(value.dtype).tobytes() == value.tobytes()


def _suggestion(root: Root, case: Case, size: int, known: Calibration | None) -> str:
    name = name_of(case.fn)
    embedded = f"{bytes_text(size)} are embedded in the program"
    if known is not None:
        embedded += f" and take about {seconds_text(known.seconds(size), 2)} of every compile"
    text = _SUGGESTIONS[root.kind]
    if is_for_filter_jit(root.value):
        text = f"{text}, and use {_FILTER_JIT}"
        if root.kind == "self" and _is_called_directly(root, case.fn):
            text = f"use {_FILTER_JIT}: filter_jit passes the arrays of self as arguments"
    example = _example(root, case) if root.kind == "self" else ""
    return f"{text.format(name=name, root=root.name, example=example)}: {embedded}"


def _example(root: Root, case: Case) -> str:
    """Return the part of a suggestion that shows a function with self as an argument; empty if the
    name of the method is not known.

    The example transforms the method inside the new function, because transformations of the new
    function would need other options, such as argnums.
    """
    if not root.call:
        return ""
    is_direct = _is_called_directly(root, case.fn)
    called = root.call if is_direct else f"wrap({root.call})"
    where = "" if is_direct else ", where wrap applies the same transformations and partials"
    given = "*args, **kwargs" if case.kwargs else "*args"
    options = "" if is_for_filter_jit(root.value) else _options(case)
    return f", such as jax.jit(lambda self, {given}: {called}({given}){options}){where}"


def _options(case: Case) -> str:
    """Return the static and donated arguments of a call as options for the jit of a function that
    takes self as an additional first argument. Other options are shown without their values, as in
    ``out_shardings=...``."""
    known = None if case.jit_options else jit_of(case.fn)
    information = getattr(known or jax.jit(case.fn, **case.jit_options), "_jit_info", None)
    count = len(case.args)
    shown = ""
    for kind in ("static", "donate"):
        numbers = getattr(information, f"{kind}_argnums", None) or ()
        names = getattr(information, f"{kind}_argnames", None) or ()
        if positions := tuple(n % count + 1 for n in numbers if -count <= n < count):
            shown += f", {kind}_argnums={positions}"
        if given := tuple(name for name in names if name in case.kwargs):
            shown += f", {kind}_argnames={given}"
    usual = getattr(jax.jit(len), "_jit_info", None)
    fields = (field for field in _OPTIONS if hasattr(information, field))
    changed = [
        field for field in fields if getattr(information, field) != getattr(usual, field, ())
    ]
    return shown + "".join(dict.fromkeys(f", {_OPTIONS[field]}=..." for field in changed))


def _is_called_directly(root: Root, fn: Callable[..., Any]) -> bool:
    """Return whether a function calls self without a transformation or a partial, except jit."""
    jitted = getattr(fn, "__wrapped__", None) if isinstance(fn, jax.stages.Wrapped) else None
    return root.called is fn or root.called is jitted
