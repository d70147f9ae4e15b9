"""Watch a block of code: report which functions JAX traces and compiles, where and why."""

from __future__ import annotations

import contextlib
import inspect
import sys
import types
from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

import jax
import jax.core

from jaxmeter._measure.counts import Stage, listening
from jaxmeter._measure.jits import attribute_of_jit
from jaxmeter._program.places import Place, author_place, owner
from jaxmeter._records.retraces import Watched
from jaxmeter._retrace.groups import Call, Explanation, Group, code_of
from jaxmeter._retrace.signatures import signature
from jaxmeter._retrace.static import has_static_numbers, static_arguments

_LIBRARY_FRAMES_COUNT = 12
"""How many frames to search, from `jax.jit` outwards, for the library function that called
`jax.jit`. Some of these frames belong to JAX."""


@contextlib.contextmanager
def watch() -> Iterator[Watch]:
    """Watch the functions that JAX traces and compiles within a ``with`` block, in all threads.

    Yields
    ------
    Watch
        The property ``report`` lists the functions that were traced or compiled so far. The report
        may be read in the block and after the block.

    Notes
    -----
    The watched code runs unchanged. The arrays in its arguments are not kept, but static values
    are. Function objects and the arguments of calls are read from the stack frames of JAX's
    internal functions. If a version of JAX has other internal functions, the arguments are unknown,
    but the counts are still correct.

    JAX 0.10 does not report traces under `jax.vmap` or `jax.grad`, so only their compiles are
    counted.
    """
    with listening(Watch()) as watched:
        yield watched


class Seen(NamedTuple):
    """A trace, a lowering or a compile that has just ended."""

    stage: Stage
    group: Group
    """The function, with all its traces and compiles so far."""
    seconds: float
    frames: list[types.FrameType]
    """The frames of the stack, from the innermost function of JAX outwards."""
    call: Call | None
    """The call that led to the trace, lowering or compile; None if it is not known."""
    explanation: Explanation
    is_hit: bool


class Watch:
    """The traces and compiles that JAX has reported so far, by function."""

    def __init__(self) -> None:
        self._groups: dict[Hashable, Group] = {}

    @property
    def report(self) -> Watched:
        """The functions that were traced or compiled so far, the slowest first."""
        functions = [group.report() for group in self._groups.values()]
        functions.sort(key=lambda one: -(one.trace_seconds + one.compile_seconds))
        return Watched(tuple(functions), jax.__version__)

    def on_seen(self, seen: Seen) -> None:
        """Do nothing; a subclass may record the trace, lowering or compile."""

    def on_event(self, stage: Stage, fun_name: str, seconds: float, *, is_hit: bool) -> None:
        frames, is_trace = _frames(), stage == "trace"
        if is_trace and sum(frame.f_code.co_name == "_infer_params" for frame in frames) > 1:
            return  # a nested trace, reported by JAX up to 0.7; the outer trace includes its time
        group, call = self._group(fun_name if is_trace else _function_name(fun_name), frames)
        why = Explanation("not known")
        if is_trace:
            group.trace_seconds += seconds
        else:
            group.compile_seconds += seconds
        if stage != "lower":
            at = _line(frames)
            if is_hit:
                group.cache_hits_count += 1
            else:
                (group.traced_at if is_trace else group.compiled_at)[at] += 1
            why = group.explain(call, at, traced=is_trace)
        self.on_seen(Seen(stage, group, seconds, frames, call, why, is_hit))

    def _group(self, name: str, frames: list[types.FrameType]) -> tuple[Group, Call | None]:
        call = _call(frames)
        code = None if call is None else code_of(call.fn)
        if code is None:
            # The function is not known, for example because the program is compiled ahead of time.
            # Take the last known function with this name.
            for group in reversed(self._groups.values()):
                if group.name == name:
                    return group, call
        key = (name, _line(frames) if code is None else code)
        return self._groups.setdefault(key, Group(name, code)), call


def _frames() -> list[types.FrameType]:
    """Return the frames of the stack, from the innermost function of JAX outwards."""
    frames = []
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if frames or owner(frame.f_code.co_filename) != "jaxmeter":
            frames.append(frame)
        frame = frame.f_back
    return frames


def _call(frames: list[types.FrameType]) -> Call | None:
    """Return the innermost call of a jitted function, or None if the frames of JAX contain no such
    call. The call is read from the local variables of a frame."""
    for number, frame in enumerate(frames):
        if owner(frame.f_code.co_filename) != "JAX":
            continue
        names = frame.f_locals
        information = names.get("ji", names.get("jit_info"))
        if information is None or not {"fun", "args", "kwargs"} <= names.keys():
            continue
        fn, args, kwargs = names["fun"], names["args"], names["kwargs"]
        static, static_numbers = static_arguments(information), False
        library = _library_call(fn, frames[number + 1 :][:_LIBRARY_FRAMES_COUNT])
        if library is not None:
            static_numbers = has_static_numbers(library[1:], args, kwargs, static)
            fn, args, kwargs = library
            static = (), ()
        leaves = jax.tree.leaves((args, kwargs))
        if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
            return Call(fn, None)
        now = signature(fn, args, kwargs, static, static_numbers=static_numbers)
        return Call(fn, now, args, kwargs, static)
    return None


def _library_call(
    fn: Any, frames: list[types.FrameType]
) -> tuple[Any, tuple[Any, ...], dict[str, Any]] | None:
    """Return the object that wraps ``jax.jit(fn)`` in a library such as equinox, and the positional
    and keyword arguments of the object's call; None if no such call is on the stack."""
    for frame in frames:
        owner = frame.f_locals.get("self") if frame.f_code.co_name == "__call__" else None
        # An object may compute its attributes, and this may raise any exception.
        with contextlib.suppress(Exception):
            attribute = attribute_of_jit(owner)
            if attribute and getattr(getattr(owner, attribute), "__wrapped__", None) is fn:
                return owner, *_arguments(frame)
    return None


def _arguments(frame: types.FrameType) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the positional and keyword arguments of a method, without ``self``."""
    names, rest, named, values = inspect.getargvalues(frame)
    count = frame.f_code.co_argcount
    args = (*(values[name] for name in names[1:count]), *values.get(rest or "", ()))
    return args, {name: values[name] for name in names[count:]} | values.get(named or "", {})


def _line(frames: list[types.FrameType]) -> Place:
    """Return the innermost line of the user's code on the stack, or else a line of a package other
    than JAX and jaxmeter, or else a line of Python's own library, or else an empty place."""
    places = [Place(f.f_code.co_filename, f.f_lineno or 0, f.f_code.co_name) for f in frames]
    places = [place for place in places if owner(place.file) not in ("JAX", "jaxmeter")]
    own = [place for place in places if owner(place.file) != "Python"]
    return author_place(own or places) or Place("", 0, "")


def _function_name(program: str) -> str:
    """Return the name of the function in a program's name, such as ``step`` in ``jit(step)``."""
    return program.partition("(")[2].removesuffix(")") or program
