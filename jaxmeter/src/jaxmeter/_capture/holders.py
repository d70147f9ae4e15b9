"""Find the arrays that a function can reach, the objects that hold them, and the arrays' paths.

Examples of paths are ``self.weights[0]``, ``default of scale`` and ``closure of apply: cube``.
"""

from __future__ import annotations

import dataclasses
import itertools
import sys
import types
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import jax
import jax.core
import numpy as np

from jaxmeter._capture.functions import cells, code_names, defaults, positional_names, unwrapped
from jaxmeter._measure.case import is_partial, name_of

Kind = Literal["closure", "global", "class", "self", "default", "partial", "argument", "unknown"]

# The globals, modules and classes of these packages are not searched, because they do not belong to
# the user's code.
_LIBRARIES = {"jax", "jaxlib", "numpy", "scipy", "jaxmeter"} | set(sys.stdlib_module_names)
_LIBRARIES -= {"__main__"}
_OBJECTS_COUNT_LIMIT = 50_000
_MEMBERS_COUNT_LIMIT = 10_000


@dataclasses.dataclass(frozen=True)
class Root:
    """The start of a path: the variable that should become an argument."""

    kind: Kind
    name: str
    """The name of the variable, object or parameter: ``optical_path``, ``self``, ``scale``."""
    value: Any = dataclasses.field(default=None, compare=False, repr=False)
    """The value of the variable; None if the value is not stored."""
    called: Any = dataclasses.field(default=None, compare=False, repr=False)
    """If the variable is ``self``: the bound method or the object that is called."""

    @property
    def call(self) -> str:
        """The expression for the called method or object, such as ``self.apply``; empty if the
        method is not an attribute under its own name."""
        if self.called is self.value:
            return self.name
        name = name_of(self.called)
        found = getattr(_attribute(self.value, name), "__func__", None)
        return f"{self.name}.{name}" if found is self.called.__func__ else ""


@dataclasses.dataclass(frozen=True)
class Holder:
    """An object that a function can reach, such as an array, with the path of the object and the
    start of the path."""

    value: Any
    path: str
    root: Root

    def member(self, value: Any, suffix: str = "") -> Holder:
        return Holder(value, self.path + suffix, self.root)


UNKNOWN = Root("unknown", "")
"""The root of the searched function and of the functions that it wraps. It is not known which
variables hold these functions."""


def held_arrays(fn: Callable[..., Any], arguments: Mapping[str, Any]) -> Iterator[Holder]:
    """Yield the arrays that a function can reach, and then the arrays in its arguments. Each array
    is yielded once. Arrays with a short path come first.

    The search follows closure variables, defaults, partials, the objects of bound methods, and the
    globals and module attributes that the code uses. The search continues inside the objects
    that are found: in 50,000 objects at most, and in 10,000 members of each object at most. Arrays
    that the function makes itself, or that a called function returns, are not found.

    The arguments are searched because a static part of an argument, such as a callable in a
    pytree's metadata, may contain an array. Such an array is embedded.
    """
    walk = _Walk(fn)
    yield from walk.arrays()
    walk.queue.extend(
        Holder(value, name, Root("argument", name)) for name, value in arguments.items()
    )
    yield from walk.arrays()


class _Walk:
    """A breadth-first search of the objects that a function can reach."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.home = getattr(unwrapped(fn), "__module__", None)
        # The values are kept alive, because an id is valid only as long as its object exists.
        self.seen: dict[int, Any] = {}
        self.queue: deque[Holder] = deque([Holder(fn, "", UNKNOWN)])

    def arrays(self) -> Iterator[Holder]:
        while self.queue and len(self.seen) < _OBJECTS_COUNT_LIMIT:
            place = self.queue.popleft()
            is_array = _is_array(place.value)
            # A wrapper copies the attributes of an object. The array is found in the object later.
            if id(place.value) in self.seen or (is_array and place.root is UNKNOWN):
                continue
            self.seen[id(place.value)] = place.value
            if is_array:
                yield place
            else:
                self.queue.extend(self.members(place))

    def members(self, place: Holder) -> list[Holder]:
        try:
            return list(itertools.islice(self.inside(place), _MEMBERS_COUNT_LIMIT))
        except Exception:
            # An object may compute its members, and this may raise any exception. The arrays of
            # this object then get no path.
            return []

    def inside(self, place: Holder) -> Iterator[Holder]:
        value = place.value
        if isinstance(value, (str, bytes, int, float, complex, type(None), types.ModuleType)):
            return
        if is_partial(value):
            yield from _in_partial(place)
        elif isinstance(value, types.FunctionType):
            yield from self.in_function(place)
        elif isinstance(value, type):
            yield from _in_class(place)
        elif _is_method(value):
            yield from _in_method(place)
        elif isinstance(value, Mapping):
            for key in list(value):
                yield place.member(value[key], f"[{key!r}]")
        elif isinstance(value, (tuple, list, deque)):
            names = getattr(value, "_fields", None)  # of a named tuple
            for index, item in enumerate(value):
                yield place.member(item, f".{names[index]}" if names else f"[{index}]")
        else:
            yield from _in_object(place)

    def in_function(self, place: Holder) -> Iterator[Holder]:
        """Yield the objects that a Python function can reach.

        The path of a closure variable or a default also names the function, unless the function is
        the searched function or a function that the searched function wraps.
        """
        fn = place.value
        owner = place.path
        # If this function is part of an argument, the argument is the root of the held arrays.
        argument = place.root if place.root.kind == "argument" else None
        # fn.__module__ is no help: in a wrapper, it is the __module__ of the wrapped function.
        in_library = _is_library(fn.__globals__.get("__name__", ""))
        wrapped = getattr(fn, "__wrapped__", None)
        if wrapped is not None:
            yield place.member(wrapped)
        for name, value in cells(fn):
            if in_library and callable(value):  # the function inside a wrapper
                yield place.member(value)
                continue
            path = f"closure of {owner}: {name}" if owner else name
            yield Holder(value, path, argument or Root("closure", name, value))
        inside = f" in {owner}" if owner else ""
        for name, value in defaults(fn):
            yield Holder(value, f"default of {name}{inside}", argument or Root("default", name))
        if not in_library:
            yield from self.globals_of(fn)

    def globals_of(self, fn: types.FunctionType) -> Iterator[Holder]:
        """Yield the globals that a function uses, from its own module and from other modules."""
        names = set(code_names(fn.__code__))
        own = fn.__globals__
        module = own.get("__name__")
        prefix = "" if module == self.home else f"{module}."
        for name in sorted(names):
            value = own.get(name, sys.modules.get(name))  # the body may import a module
            if isinstance(value, types.ModuleType):
                yield from _in_module(value, name, names)
            elif name in own:
                yield Holder(value, prefix + name, _global(name, value))


def _in_module(module: types.ModuleType, path: str, names: set[str]) -> Iterator[Holder]:
    """Yield the attributes with one of the names, of a module and of the modules among these
    attributes, such as ``package.module.table``."""
    seen = {id(module)}
    queue = deque([(module, path)])
    while queue:
        module, path = queue.popleft()
        if _is_library(module.__name__):
            continue
        for name in sorted(names & vars(module).keys()):
            value, inside = vars(module)[name], f"{path}.{name}"
            if not isinstance(value, types.ModuleType):
                yield Holder(value, inside, _global(name, value))
            elif id(value) not in seen:
                seen.add(id(value))
                queue.append((value, inside))


def _global(name: str, value: Any) -> Root:
    return Root("class" if isinstance(value, type) else "global", name, value)


def _in_partial(place: Holder) -> Iterator[Holder]:
    value = place.value
    yield place.member(value.func)
    positional = zip(positional_names(value.func), value.args, strict=False)
    given = [(name, f".args[{at}]", item) for at, (name, item) in enumerate(positional)]
    given += [(name, f".keywords[{name!r}]", item) for name, item in value.keywords.items()]
    for name, suffix, item in given:
        if place.root is UNKNOWN:
            yield Holder(item, f"partial argument {name}", Root("partial", name))
        else:
            yield place.member(item, suffix)


def _in_method(place: Holder) -> Iterator[Holder]:
    value = place.value
    if isinstance(value.__self__, type):  # a class method
        yield from _classes(value.__self__)
    elif place.root is UNKNOWN:
        yield Holder(value.__self__, "self", Root("self", "self", value.__self__, value))
    else:
        yield place.member(value.__self__, ".__self__")
    yield place.member(value.__func__)


def _in_class(place: Holder) -> Iterator[Holder]:
    """Yield the attributes and methods of a class, unless the class belongs to a library."""
    if _is_library(place.value.__module__):
        return
    for name, member in list(vars(place.value).items()):
        if isinstance(member, (staticmethod, classmethod)):
            member = member.__func__
        elif isinstance(member, property):
            member = member.fget
        if name.startswith("__") and not callable(member):
            continue
        yield place.member(member, f".{name}")


def _classes(cls: type) -> Iterator[Holder]:
    """Yield a class and its base classes, except the classes of libraries such as JAX."""
    for base in cls.__mro__:
        if not _is_library(base.__module__):
            yield Holder(base, base.__name__, Root("class", base.__name__))


def _in_object(place: Holder) -> Iterator[Holder]:
    value = place.value
    cls = type(value)
    wrapped = _attribute(value, "__wrapped__")
    called = place.root is UNKNOWN and not place.path
    if called and wrapped is None and not _is_library(cls.__module__):
        # The searched function is an instance of a user's class, so its path is ``self``. A
        # wrapper, such as a jitted function or a jax.custom_jvp, has an empty path instead.
        place = Holder(value, "self", Root("self", "self", value, value))
    if wrapped is not None:
        yield place.member(wrapped)
    for name, member in _attributes(value):
        if called and place.root is UNKNOWN:
            yield Holder(member, "", UNKNOWN) if callable(member) else place.member(member, name)
        else:
            yield place.member(member, f".{name}")
    yield from _classes(cls)


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    own = getattr(value, "__dict__", None)
    if isinstance(own, Mapping):
        yield from list(own.items())
    for base in type(value).__mro__:
        slots = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else tuple(slots):
            member = _attribute(value, name)
            if member is not None:
                yield name, member


def _attribute(value: Any, name: str) -> Any:
    # If an attribute raises an exception, the other attributes are still searched.
    try:
        return getattr(value, name, None)
    except Exception:
        return None


def _is_method(value: Any) -> bool:
    # Check the attributes instead of the type, because equinox has its own class of bound methods.
    return _attribute(value, "__self__") is not None and _attribute(value, "__func__") is not None


def _is_library(module: str) -> bool:
    return module.partition(".")[0] in _LIBRARIES


def _is_array(value: Any) -> bool:
    return isinstance(value, (jax.Array, np.ndarray)) and not isinstance(value, jax.core.Tracer)
