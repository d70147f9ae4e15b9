"""What JAX knows a call by, and in what two calls differ.

A jitted function is traced again for each combination of: how its arguments are given, their
structure, the shape, dtype and weak type of each array, each static value, and options of JAX.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import jax.core

from jaxmeter._records.retraces import Difference

_TEXT_CHARACTERS = 80
_ABSENT = "nothing"
_SEVERITY = {"weak type": 0, "structure": 2, "form": 3}
"""Of two calls with as many differences the one with the lesser ones is nearer."""


@dataclasses.dataclass(frozen=True, eq=False)
class Leaf:
    """An array, or a number, among the arguments; it is not kept itself."""

    shape: tuple[int, ...]
    dtype: str
    weak_type: bool
    placement: str
    """Its sharding, and whether it is committed to it; empty for what is on no device."""
    number: Any
    """A Python number's value: it is traced, unless someone else made it static."""

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


@dataclasses.dataclass(frozen=True, eq=False)
class Signature:
    """A call, without its arrays."""

    given: Mapping[str, str]
    """How each argument is given: ``by position`` or ``by keyword``."""
    trees: Mapping[str, Any]
    leaves: Mapping[str, Leaf]
    """By their paths: ``params['w']``."""
    statics: Mapping[str, Any]
    options: Mapping[str, Any]
    """Options of JAX that are in force."""


def static_arguments(information: Any) -> tuple[set[int], set[str]]:
    """The numbers and the names of the static arguments of a jitted function.

    Parameters
    ----------
    information : Any
        What JAX keeps of the function, as ``jitted._jit_info``, where it completed the one from
        the other; of what is no jitted function of JAX's, None.
    """
    return (
        set(getattr(information, "static_argnums", None) or ()),
        set(getattr(information, "static_argnames", None) or ()),
    )


def signature(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    static: tuple[set[int], set[str]] = (set(), set()),
) -> Signature:
    """What JAX knows a call by.

    Parameters
    ----------
    fn : callable
        The function, for the names of its parameters.
    args, kwargs : tuple, mapping
        Its arguments.
    static : tuple
        The numbers and the names of static arguments, as `static_arguments` gives them.
    """
    numbers = {n % len(args) if args and -len(args) <= n < 0 else n for n in static[0]}
    given, trees, leaves, statics = {}, {}, {}, {}

    def take(name: str, value: Any, how: str, is_static: bool) -> None:
        given[name] = how
        if is_static:
            statics[name] = value
            return
        found, trees[name] = jax.tree_util.tree_flatten_with_path(value)
        for path, item in found:
            where = name + jax.tree_util.keystr(path)
            leaf = _leaf(item)
            if leaf is None:
                statics[where] = item  # JAX refuses it; other jits, as equinox's, make it static
            else:
                leaves[where] = leaf

    for number, (name, value) in enumerate(zip(_positional_names(fn), args, strict=False)):
        take(name, value, "by position", number in numbers)
    for name, value in kwargs.items():
        take(name, value, "by keyword", name in static[1])
    return Signature(given, trees, leaves, statics, _options())


def _positional_names(fn: Callable[..., Any]) -> Iterator[str]:
    """Names for the positional arguments, without end."""
    rest = "args"
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    for parameter in parameters:
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            yield parameter.name
        elif parameter.kind == parameter.VAR_POSITIONAL:
            rest = parameter.name
    number = 0
    while True:
        yield f"{rest}[{number}]"
        number += 1


def _leaf(value: Any) -> Leaf | None:
    try:
        aval: Any = jax.typeof(value)
        shape, dtype = tuple(aval.shape), str(aval.dtype)
    except (TypeError, ValueError, AttributeError, OverflowError):
        return None
    placement = ""
    if isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer):
        committed = "committed to" if getattr(value, "committed", False) else "not committed, on"
        devices = value.sharding.device_set
        where = next(iter(devices)) if len(devices) == 1 else value.sharding
        placement = f"{committed} {where}"
    number = value if isinstance(value, (bool, int, float, complex)) else None
    return Leaf(shape, dtype, bool(getattr(aval, "weak_type", False)), placement, number)


def _options() -> dict[str, Any]:
    found = {name: getattr(jax.config, name, None) for name in getattr(jax.config, "values", ())}
    found["mesh"] = str(jax.sharding.get_abstract_mesh())
    return found


def causes(now: Signature, earlier: list[Signature]) -> tuple[int, tuple[Difference, ...]]:
    """In what a call differs from the earlier one that it is nearest to.

    Returns
    -------
    nearest : int
        The number of that call among ``earlier``, the latest of equals.
    differences : tuple of Difference
        Of arguments. Where there are none, of where arrays lie; of Python numbers; of options;
        empty where two calls are the same for all that is known.
    """
    ranked = []
    for number, before in enumerate(earlier):
        levels = [
            tuple(compare(now, before))
            for compare in (_arguments, _placements, _numbers, _changed_options)
        ]
        own = levels[0]
        severity = sum(_SEVERITY.get(difference.kind, 1) for difference in own)
        others = [] if own else [len(level) for level in levels[1:]]
        ranked.append((len(own), severity, others, -number, levels))
    *_, number, levels = min(ranked)
    return -number, next((level for level in levels if level), ())


def _arguments(now: Signature, before: Signature) -> Iterator[Difference]:
    for name in dict.fromkeys((*before.given, *now.given)):
        old, new = before.given.get(name, "left out"), now.given.get(name, "left out")
        if old != new:
            yield Difference("form", name, old, new)
        if name not in before.given or name not in now.given:
            continue
        # What is below the argument, or the argument itself.
        old_tree, new_tree = before.trees.get(name), now.trees.get(name)
        own = [
            path
            for path in dict.fromkeys((*_below(before, name), *_below(now, name)))
            if not (path in before.statics and path in now.statics)
        ]
        moved = [path for path in own if (path in before.leaves) != (path in now.leaves)]
        for path in moved:
            yield Difference("structure", path, _text_at(before, path), _text_at(now, path))
        if old_tree != new_tree and not moved and old_tree is not None and new_tree is not None:
            yield Difference("structure", name, _short(old_tree), _short(new_tree))
        for path in own:
            if path not in moved:
                yield from _leaves(path, before.leaves[path], now.leaves[path])
    for path in before.statics.keys() & now.statics.keys():
        difference = _static(path, before.statics[path], now.statics[path])
        if difference is not None:
            yield difference


def _below(call: Signature, name: str) -> Iterator[str]:
    for path in (*call.leaves, *call.statics):
        if path == name or path.startswith((f"{name}[", f"{name}.")):
            yield path


def _text_at(call: Signature, path: str) -> str:
    if path in call.leaves:
        return str(call.leaves[path])
    return f"static {_value_text(call.statics[path])}" if path in call.statics else _ABSENT


def _leaves(path: str, before: Leaf, now: Leaf) -> Iterator[Difference]:
    if before.shape != now.shape:
        yield Difference("shape", path, str(before.shape), str(now.shape))
    if before.dtype != now.dtype:
        yield Difference("dtype", path, before.dtype, now.dtype)
    elif before.weak_type != now.weak_type:
        weak = {True: "weak", False: "strong"}
        yield Difference(
            "weak type",
            path,
            f"{weak[before.weak_type]} {before.dtype}",
            f"{weak[now.weak_type]} {now.dtype}",
        )


def _static(path: str, before: Any, now: Any) -> Difference | None:
    # As JAX does it: 20 and 20.0 are equal, and two static values all the same.
    if _same(before, now):
        return None
    while isinstance(now, (tuple, list)) and type(before) is type(now) and len(before) == len(now):
        # Of many values at once, as equinox passes them, tell the one.
        others = [
            index for index, pair in enumerate(zip(before, now, strict=True)) if not _same(*pair)
        ]
        if len(others) != 1:
            break
        (index,) = others
        path, before, now = f"{path}[{index}]", before[index], now[index]
    kind = "new object" if _alike(before, now) else "static value"
    return Difference(kind, path, _value_text(before), _value_text(now))


def _same(before: Any, now: Any) -> bool:
    if before is now:
        return True
    try:
        return type(before) is type(now) and bool(before == now)
    except Exception:
        return False  # what cannot be compared is another


def _alike(before: Any, now: Any) -> bool:
    """Whether two objects that are not equal may well have been meant to be the same."""
    code = getattr(before, "__code__", None)
    if code is not None:
        return code is getattr(now, "__code__", None)
    # Those that compare by identity are equal to nothing that is made again.
    return type(before) is type(now) and type(now).__eq__ is object.__eq__


def _placements(now: Signature, before: Signature) -> Iterator[Difference]:
    for path in before.leaves.keys() & now.leaves.keys():
        old, new = before.leaves[path].placement, now.leaves[path].placement
        if old != new:
            yield Difference("placement", path, old or "on the host", new or "on the host")


def _numbers(now: Signature, before: Signature) -> Iterator[Difference]:
    for path in before.leaves.keys() & now.leaves.keys():
        old, new = before.leaves[path].number, now.leaves[path].number
        if old is not None and new is not None and old != new:
            yield Difference("static value", path, repr(old), repr(new))


def _changed_options(now: Signature, before: Signature) -> Iterator[Difference]:
    for name in sorted(before.options.keys() | now.options.keys()):
        old, new = before.options.get(name), now.options.get(name)
        if old is not new and old != new:
            yield Difference("option", name, _short(old), _short(new))


def _value_text(value: Any) -> str:
    code = getattr(value, "__code__", None)
    if code is not None:
        return f"{value.__name__} of {code.co_filename}:{code.co_firstlineno}"
    if type(value).__repr__ is object.__repr__:
        return f"a {type(value).__name__}"
    return _short(value)


def _short(value: Any) -> str:
    try:
        text = " ".join(repr(value).split())
    except Exception:
        text = f"a {type(value).__name__}"
    return text if len(text) <= _TEXT_CHARACTERS else text[:_TEXT_CHARACTERS] + "..."
