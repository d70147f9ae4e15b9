"""Watch a block of code: which functions were traced and compiled, how often, from where, why."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import linecache
import sys
import sysconfig
import types
import weakref
from collections import Counter
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.core

from jaxmeter._capture.functions import cells, unwrapped
from jaxmeter._measure.counts import Listener, listening
from jaxmeter._records.retraces import Difference, Place, Watched, WatchedFunction
from jaxmeter._retrace.signatures import Signature, causes, signature, static_arguments

_JAX = str(Path(jax.__file__).parent)
_OURS = str(Path(__file__).parents[1])
_INSTALLED = tuple(
    {sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib", "platstdlib")}
)


@contextlib.contextmanager
def watch() -> Iterator[Watch]:
    """Watch what JAX traces and compiles within a ``with`` block, whoever asks for it.

    Yields
    ------
    Watch
        Its ``report`` tells what was seen until now, within the block and after it.

    Notes
    -----
    Nothing of the code changes, and its arrays are not kept. Which function objects were traced,
    and in which arguments the calls differ, is read from the stack of JAX's own functions; where
    another JAX has other ones, these are not known and the counts still hold.
    """
    with listening(Watch()) as watched:
        yield watched


_At = tuple[str, int, str]
"""File, line, function."""


@dataclasses.dataclass
class _Group:
    """What was seen of the functions of one name and one piece of code."""

    name: str
    code: types.CodeType | None
    traces_count: int = 0
    compiles_count: int = 0
    cache_hits_count: int = 0
    trace_seconds: float = 0.0
    compile_seconds: float = 0.0
    traced_at: Counter[_At] = dataclasses.field(default_factory=Counter)
    compiled_at: Counter[_At] = dataclasses.field(default_factory=Counter)
    objects: list[weakref.ref | None] = dataclasses.field(default_factory=list)
    """Those that were traced; None for what is gone or cannot be referred to."""
    kinds: set[tuple[Any, ...]] = dataclasses.field(default_factory=set)
    """Of those objects: ``a lambda``, ``a partial``, with the code of all that wraps them."""
    calls: list[tuple[int, Signature]] = dataclasses.field(default_factory=list)
    """Each call that was traced or compiled, with the number of its object."""
    causes: dict[Difference, None] = dataclasses.field(default_factory=dict)

    def is_jax(self) -> bool:
        return self.code is not None and self.code.co_filename.startswith(_JAX)


@dataclasses.dataclass(frozen=True, eq=False)
class _Call:
    """What JAX's own functions on the stack say of the call that they work on."""

    fn: Any
    known: Signature | None
    """None if it is under another transformation: its arguments are then none of the author's."""


class Watch(Listener):
    """What was seen so far."""

    def __init__(self) -> None:
        self._groups: dict[Hashable, _Group] = {}

    @property
    def report(self) -> Watched:
        """What was seen so far, those functions that took longest first."""
        functions = [_told(group) for group in self._groups.values()]
        functions.sort(key=lambda told: -(told.trace_seconds + told.compile_seconds))
        return Watched(tuple(functions), jax.__version__)

    def hear_trace(self, fun_name: str, seconds: float) -> None:
        frames = _frames()
        if _is_nested(frames):
            return  # up to JAX 0.7 these are reported too, and their time is that of the outer
        group, call = self._group(fun_name, frames)
        group.traces_count += 1
        group.trace_seconds += seconds
        group.traced_at[_place(frames)] += 1
        _explain(group, call, traced=True)

    def hear_lowering(self, fun_name: str, seconds: float) -> None:
        group, _ = self._group(_bare(fun_name), _frames())
        group.compile_seconds += seconds

    def hear_compile(self, fun_name: str, seconds: float, *, is_hit: bool) -> None:
        frames = _frames()
        group, call = self._group(_bare(fun_name), frames)
        group.compile_seconds += seconds
        if is_hit:
            group.cache_hits_count += 1
        else:
            group.compiles_count += 1
            group.compiled_at[_place(frames)] += 1
        _explain(group, call, traced=False)

    def _group(self, name: str, frames: list[types.FrameType]) -> tuple[_Group, _Call | None]:
        call = _call(frames)
        code = None if call is None else _code(call.fn)
        if code is None:
            # A program that is compiled ahead of time: its function is the last of that name.
            for group in reversed(self._groups.values()):
                if group.name == name:
                    return group, call
        key = (name, _place(frames) if code is None else code)
        return self._groups.setdefault(key, _Group(name, code)), call


def _explain(group: _Group, call: _Call | None, *, traced: bool) -> None:
    """Note why this was not the first time."""
    if call is None or call.known is None or group.is_jax():
        return
    number = _number_of(group, call.fn)
    same = [known for other, known in group.calls if other == number]
    if same:
        # No difference to the trace just before where this is its compile.
        group.causes.update(dict.fromkeys(causes(call.known, same)[1]))
    elif traced:
        kind = _kind(call.fn)
        made = (kind, *_wrapping(call.fn))  # jax.vmap(f) is not f made again
        if made in group.kinds:
            group.causes[Difference("new function", group.name, kind, kind)] = None
        group.kinds.add(made)
    group.calls.append((number, call.known))


def _number_of(group: _Group, fn: Any) -> int:
    """Which of the group's objects a function is; a new number if it is none of them."""
    for number, reference in enumerate(group.objects):
        if reference is not None and reference() is fn:
            return number
    try:
        group.objects.append(weakref.ref(fn))
    except TypeError:
        group.objects.append(None)
    return len(group.objects) - 1


def _frames() -> list[types.FrameType]:
    """The stack from the innermost function of JAX outwards."""
    frames = []
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if frames or not frame.f_code.co_filename.startswith(_OURS):
            frames.append(frame)
        frame = frame.f_back
    return frames


def _is_nested(frames: list[types.FrameType]) -> bool:
    return sum(frame.f_code.co_name == "_infer_params" for frame in frames) > 1


def _call(frames: list[types.FrameType]) -> _Call | None:
    for frame in frames:
        if not frame.f_code.co_filename.startswith(_JAX):
            continue
        names = frame.f_locals
        information = names.get("ji", names.get("jit_info"))
        if information is None or not {"fun", "args", "kwargs"} <= names.keys():
            continue
        fn, args, kwargs = names["fun"], names["args"], names["kwargs"]
        leaves = jax.tree.leaves((args, kwargs))
        if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
            return _Call(fn, None)
        return _Call(fn, signature(fn, args, kwargs, static_arguments(information)))
    return None


def _place(frames: list[types.FrameType]) -> _At:
    """The innermost line that is the author's; in want of one, of another package."""
    others = [frame for frame in frames if not frame.f_code.co_filename.startswith((_JAX, _OURS))]
    own = [frame for frame in others if not frame.f_code.co_filename.startswith(_INSTALLED)]
    frame = next(iter(own or others), None)
    if frame is None:
        return "", 0, ""
    return frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name


def _code(fn: Any) -> types.CodeType | None:
    fn = unwrapped(fn)
    code = getattr(fn, "__code__", None)  # a method has that of its function
    return code or getattr(type(fn).__call__, "__code__", None)


def _wrapping(fn: Any) -> Iterator[types.CodeType]:
    """The code of a function, and of the transformation that it stands for: JAX's wrappers are all
    of one code, and hold what differs."""
    if isinstance(fn, types.FunctionType):
        yield fn.__code__
        for _, held in cells(fn):
            if isinstance(held, types.FunctionType) and held.__code__.co_filename.startswith(_JAX):
                yield held.__code__


def _kind(fn: Any) -> str:
    if isinstance(fn, functools.partial):
        return "a partial"
    if isinstance(fn, types.MethodType):
        return "a bound method"
    if not isinstance(fn, types.FunctionType):
        return f"a {type(fn).__name__}"
    return "a lambda" if fn.__name__ == "<lambda>" else "a function"


def _bare(program: str) -> str:
    """The function's name of a program's: ``jit(step)``."""
    return program.partition("(")[2].removesuffix(")") or program


def _told(group: _Group) -> WatchedFunction:
    places = []
    for at in dict.fromkeys((*group.traced_at, *group.compiled_at)):
        file, line, function = at
        text = linecache.getline(file, line).strip()
        traces, compiles = group.traced_at[at], group.compiled_at[at]
        places.append(Place(file, line, function, text, traces, compiles))
    code = group.code
    return WatchedFunction(
        name=group.name,
        defined="" if code is None else f"{code.co_filename}:{code.co_firstlineno}",
        is_jax=group.is_jax(),
        traces_count=group.traces_count,
        compiles_count=group.compiles_count,
        cache_hits_count=group.cache_hits_count,
        objects_count=len(group.objects) or None,
        trace_seconds=group.trace_seconds,
        compile_seconds=group.compile_seconds,
        places=tuple(places),
        causes=tuple(group.causes),
    )
