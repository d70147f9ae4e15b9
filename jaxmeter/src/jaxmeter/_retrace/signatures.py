"""Describe calls by the properties that make JAX retrace or recompile, and compare calls.

A jitted function is retraced, or only recompiled, for each new combination of these properties:

- how each argument is given: by position, by keyword or not at all
- the structure of each argument
- the shape, dtype and weak type of each array
- the device or sharding of each array that is committed to it
- the value of each static argument
- the options of JAX
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import jax
import jax.core

from jaxmeter._capture.functions import parameters, positional_names
from jaxmeter._measure.staging import Static, Whole, marked
from jaxmeter._records.retraces import Difference
from jaxmeter._render.units import type_text
from jaxmeter._retrace.values import contrast, cut, same, static_differences, text_of, value_text

_GROUPS = {"placement": 1, "option": 2}
"""The group of each kind of difference. Kinds that are not listed are differences of arguments,
which are group 0."""
_SEVERITY = {"weak type": 0, "structure": 2, "form": 3}
"""Weights of the kinds of difference. Kinds that are not listed have weight 1. If two calls have
equally many differences from a later call, the call with the smaller sum of weights is nearer."""


class Leaf(NamedTuple):
    """An array or a Python number among the arguments; the values of arrays are not kept."""

    shape: tuple[int, ...]
    dtype: str
    weak_type: bool
    placement: str
    """The device or sharding that a `jax.Array` is committed to; empty for arrays that are not
    committed, for NumPy arrays and for Python numbers, because all of these share a program."""
    number: Any = None
    """The value of a Python number that a library makes static; otherwise None."""


class Argument(NamedTuple):
    """An argument of a call."""

    form: str
    """``by position``, ``by keyword``, or ``left out`` if a static argument keeps its default."""
    tree: Any
    """The structure of the argument's pytree; None if the argument is static."""
    parts: dict[str, Leaf | Whole]
    """Each leaf by its path, such as ``params['w']``. A static leaf is a `Whole`."""


@dataclasses.dataclass(frozen=True, eq=False)
class Signature:
    """The properties of a call that decide whether JAX retraces or recompiles."""

    arguments: dict[str, Argument]
    options: dict[str, Any]
    """The options of JAX during the call, by name."""


def signature(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    static: Static = ((), ()),
    *,
    static_numbers: bool = False,
) -> Signature:
    """Return the properties of a call that decide whether JAX retraces or recompiles. `static` has
    the positions and the names of the static arguments. If `static_numbers` is true, Python numbers
    in all other arguments are static too."""
    args, kwargs = marked(args, kwargs, static)
    arguments = {
        name: _argument(name, value, "by position", static_numbers)
        for name, value in zip(positional_names(fn), args, strict=False)
    }
    arguments |= {
        name: _argument(name, value, "by keyword", static_numbers) for name, value in kwargs.items()
    }
    arguments |= {
        one.name: _argument(one.name, Whole(one.default), "left out")
        for one in parameters(fn)
        if one.default is not one.empty and one.name in static[1] and one.name not in arguments
    }
    options = {name: getattr(jax.config, name, None) for name in getattr(jax.config, "values", ())}
    return Signature(arguments, options | {"mesh": str(jax.sharding.get_abstract_mesh())})


def causes(now: Signature, earlier: list[Signature]) -> tuple[int, tuple[Difference, ...]]:
    """Return the position of the nearest call in `earlier`, and the differences from that call.

    There are three groups of differences: arguments, placements and options. Only the first group
    that is not empty is returned. If all groups are empty, no difference is known.

    The nearest call has the fewest differences of arguments, then the smallest sum of the weights
    in `_SEVERITY`. If no argument differs, the nearest call has the fewest differences of
    placements, then of options. If several calls are equally near, the latest of these calls is
    taken.
    """
    ranked = []
    for number, before in enumerate(earlier):
        own, *others = _groups(now, before, is_searched=False)
        severity = sum(_SEVERITY.get(difference.kind, 1) for difference in own)
        counts = [] if own else [len(group) for group in others]
        ranked.append((len(own), severity, counts, -number))
    number = -min(ranked)[-1]
    groups = _groups(now, earlier[number], is_searched=True)
    return number, tuple(next(filter(None, groups), ()))


def _groups(now: Signature, before: Signature, *, is_searched: bool) -> list[list[Difference]]:
    """Return the groups of differences. Unless ``is_searched`` is true, each static value that is
    not the same has one difference without texts, because a search takes longer."""
    groups: list[list[Difference]] = [[], [], []]
    for difference in (*_arguments(now, before, is_searched), *_changed_options(now, before)):
        groups[_GROUPS.get(difference.kind, 0)].append(difference)
    return groups


def is_number(value: Any) -> bool:
    """Return whether a value is a Python number, and not a number of NumPy."""
    return isinstance(value, (bool, int, float, complex)) and not hasattr(value, "dtype")


def _argument(name: str, value: Any, form: str, static_numbers: bool = False) -> Argument:
    if isinstance(value, Whole):
        return Argument(form, None, {name: value})
    leaves, tree = jax.tree_util.tree_flatten_with_path(value)
    # jax.jit raises an error for a leaf that is neither an array nor a number. Other jits, such as
    # equinox's, make the leaf static.
    parts = {
        name + jax.tree_util.keystr(path): _leaf(leaf, static_numbers) or Whole(leaf)
        for path, leaf in leaves
    }
    return Argument(form, tree, parts)


def _leaf(value: Any, static_numbers: bool) -> Leaf | None:
    if static_numbers and is_number(value):
        return Leaf((), type(value).__name__, False, "", value)
    try:
        aval: Any = jax.typeof(value)
        shape, dtype = tuple(aval.shape), str(aval.dtype)
    except (TypeError, ValueError, AttributeError, OverflowError):
        return None
    placement = ""
    if isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer):
        if getattr(value, "committed", False):
            devices = value.sharding.device_set
            where = next(iter(devices)) if len(devices) == 1 else value.sharding
            placement = f"committed to {where}"
    return Leaf(shape, dtype, bool(getattr(aval, "weak_type", False)), placement)


def _arguments(now: Signature, before: Signature, is_searched: bool) -> Iterator[Difference]:
    for name in dict.fromkeys((*before.arguments, *now.arguments)):
        old, new = before.arguments.get(name), now.arguments.get(name)
        old_form, new_form = ("left out" if one is None else one.form for one in (old, new))
        parts = () if old is None or new is None else tuple(_parts(name, old, new, is_searched))
        # If one call gives an argument and the other call leaves it out, report how the values
        # differ. If no difference of the values is known, report that one call leaves out the
        # argument.
        if old_form != new_form and not (parts and "left out" in (old_form, new_form)):
            yield Difference("form", name, old_form, new_form)
        yield from parts


def _parts(name: str, old: Argument, new: Argument, is_searched: bool) -> Iterator[Difference]:
    same_tree = old.tree == new.tree or old.tree is None or new.tree is None
    for path in dict.fromkeys((*old.parts, *new.parts)):
        before, now = old.parts.get(path), new.parts.get(path)
        if isinstance(before, Leaf) and isinstance(now, Leaf):
            yield from _leaves(path, before, now)
        elif isinstance(before, Whole) and isinstance(now, Whole):
            if is_searched:
                yield from static_differences(path, before.value, now.value, set())
            elif not same(before.value, now.value):
                yield Difference("static value", path, "", "")
        else:
            same_tree = True  # the next line reports the difference between the trees
            yield Difference("structure", path, _part_text(before), _part_text(now))
    if not same_tree:
        yield Difference("structure", name, *contrast(text_of(old.tree), text_of(new.tree)))


def _leaves(path: str, before: Leaf, now: Leaf) -> Iterator[Difference]:
    if before.number is not None or now.number is not None:
        # Libraries compare static numbers within a tuple: 2 equals 2.0, and a NaN equals itself.
        if (before.number,) != (now.number,):
            yield Difference("static number", path, _part_text(before), _part_text(now))
        return
    if before.shape != now.shape:
        yield Difference("shape", path, str(before.shape), str(now.shape))
    if before.dtype != now.dtype:
        yield Difference("dtype", path, before.dtype, now.dtype)
    elif before.weak_type != now.weak_type:
        old, new = (f"{'weak' if one.weak_type else 'strong'} {one.dtype}" for one in (before, now))
        yield Difference("weak type", path, old, new)
    if before.placement != now.placement:
        old, new = (one.placement or "not committed" for one in (before, now))
        yield Difference("placement", path, old, new)


def _changed_options(now: Signature, before: Signature) -> Iterator[Difference]:
    for name in sorted(before.options.keys() | now.options.keys()):
        old, new = before.options.get(name), now.options.get(name)
        if old is not new and old != new:
            yield Difference("option", name, cut(text_of(old)), cut(text_of(new)))


def _part_text(part: Leaf | Whole | None) -> str:
    if part is None:
        return "nothing"
    if isinstance(part, Whole):
        return f"static {cut(value_text(part.value))}"
    return type_text(part) if part.number is None else cut(text_of(part.number))
