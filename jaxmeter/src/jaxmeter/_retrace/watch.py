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
from typing import Any, Literal, NamedTuple

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
    """Watch what JAX traces and compiles within a ``with`` block, in any function and thread.

    Yields
    ------
    Watch
        Its ``report`` is what was seen so far, within the block and after it.

    Notes
    -----
    Nothing in the code changes, and its arrays are not kept. Function objects and the arguments of
    calls are read from the stack of JAX's own functions; where a version of JAX has other
    functions, they are unknown and the counts still hold.
    """
    with listening(Watch()) as watched:
        yield watched


class _Line(NamedTuple):
    file: str
    line: int
    function: str


class _Call(NamedTuple):
    """The innermost call of a JAX function on the stack, with its arguments."""

    fn: Any
    signature: Signature | None
    """None under another transformation: the arguments are then not those of the source line."""


class Explanation(NamedTuple):
    """Why a function was traced or compiled."""

    kind: Literal["first", "again", "JAX's own", "not known"]
    causes: tuple[Difference, ...] = ()
    """None for ``again`` where the call differs in nothing known."""


class Seen(NamedTuple):
    """A trace, a lowering or a compile, while it ends."""

    stage: Literal["trace", "lower", "compile"]
    name: str
    """The name of the function."""
    defined: str
    """``file:line``; empty if it is not known."""
    seconds: float
    frames: list[types.FrameType]
    """The stack from the innermost function of JAX outwards."""
    fn: Any
    """The function; None if it is not known."""
    explanation: Explanation
    is_hit: bool = False


@dataclasses.dataclass
class _Group:
    """What was seen of the functions of one name and one piece of code."""

    name: str
    code: types.CodeType | None
    traced_at: Counter[_Line] = dataclasses.field(default_factory=Counter)
    compiled_at: Counter[_Line] = dataclasses.field(default_factory=Counter)
    cache_hits_count: int = 0
    trace_seconds: float = 0.0
    compile_seconds: float = 0.0
    objects: list[weakref.ref | None] = dataclasses.field(default_factory=list)
    """The functions that were traced; None for a function without weak references."""
    kinds: set[tuple[Any, ...]] = dataclasses.field(default_factory=set)
    """Of those functions: ``a lambda``, ``a partial``, with the code of all that wraps them."""
    calls: list[tuple[int, Signature]] = dataclasses.field(default_factory=list)
    """Each call that was traced or compiled, with the number of its function."""
    causes: dict[Difference, None] = dataclasses.field(default_factory=dict)

    @property
    def defined(self) -> str:
        code = self.code
        return "" if code is None else f"{code.co_filename}:{code.co_firstlineno}"

    @property
    def is_jax(self) -> bool:
        return self.code is not None and self.code.co_filename.startswith(_JAX)

    def number_of(self, fn: Any) -> int:
        """Return the number of a function among the objects, to which a new one is added."""
        for number, reference in enumerate(self.objects):
            if reference is not None and reference() is fn:
                return number
        try:
            self.objects.append(weakref.ref(fn))
        except TypeError:
            self.objects.append(None)
        return len(self.objects) - 1

    def explain(self, call: _Call | None, *, traced: bool) -> Explanation:
        """Return, and keep, the causes of a trace or a compile that is not the first."""
        if call is None or call.signature is None or self.is_jax:
            return Explanation("JAX's own" if self.is_jax else "not known")
        number = self.number_of(call.fn)
        same = [earlier for other, earlier in self.calls if other == number]
        self.calls.append((number, call.signature))
        found: tuple[Difference, ...] = ()
        if same:
            # A compile does not differ from its own trace, just before it, and adds no cause.
            found = causes(call.signature, same)[1]
        elif traced:
            kind = _kind(call.fn)
            made = (kind, *_wrapping(call.fn))  # jax.vmap(f) is not f made again
            if made in self.kinds:
                found = (Difference("new function", self.name, kind, kind),)
            self.kinds.add(made)
        self.causes.update(dict.fromkeys(found))
        return Explanation("again" if same or found else "first", found)

    def report(self) -> WatchedFunction:
        places = tuple(
            Place(
                *at,
                text=linecache.getline(at.file, at.line).strip(),
                traces_count=self.traced_at[at],
                compiles_count=self.compiled_at[at],
            )
            for at in dict.fromkeys((*self.traced_at, *self.compiled_at))
        )
        return WatchedFunction(
            name=self.name,
            defined=self.defined,
            is_jax=self.is_jax,
            traces_count=self.traced_at.total(),
            compiles_count=self.compiled_at.total(),
            cache_hits_count=self.cache_hits_count,
            objects_count=len(self.objects) or None,
            trace_seconds=self.trace_seconds,
            compile_seconds=self.compile_seconds,
            places=places,
            causes=tuple(self.causes),
        )


_NOT_KNOWN = Explanation("not known")


class Watch(Listener):
    """What was seen so far."""

    def __init__(self) -> None:
        self._groups: dict[Hashable, _Group] = {}

    @property
    def report(self) -> Watched:
        """What was seen so far, the functions that took longest first."""
        functions = [group.report() for group in self._groups.values()]
        functions.sort(key=lambda one: -(one.trace_seconds + one.compile_seconds))
        return Watched(tuple(functions), jax.__version__)

    def on_seen(self, seen: Seen) -> None:
        """Handle what was just counted; a subclass may keep it."""

    def on_trace(self, fun_name: str, seconds: float) -> None:
        frames = _frames()
        if sum(frame.f_code.co_name == "_infer_params" for frame in frames) > 1:
            return  # nested; JAX up to 0.7 reports it too, within the time of the outer
        group, call = self._group(fun_name, frames)
        group.trace_seconds += seconds
        group.traced_at[_line(frames)] += 1
        self._tell("trace", group, call, frames, seconds, group.explain(call, traced=True))

    def on_lowering(self, fun_name: str, seconds: float) -> None:
        frames = _frames()
        group, call = self._group(_function_name(fun_name), frames)
        group.compile_seconds += seconds
        self._tell("lower", group, call, frames, seconds)

    def on_compile(self, fun_name: str, seconds: float, *, is_hit: bool) -> None:
        frames = _frames()
        group, call = self._group(_function_name(fun_name), frames)
        group.compile_seconds += seconds
        if is_hit:
            group.cache_hits_count += 1
        else:
            group.compiled_at[_line(frames)] += 1
        why = group.explain(call, traced=False)
        self._tell("compile", group, call, frames, seconds, why, is_hit=is_hit)

    def _tell(
        self,
        stage: Literal["trace", "lower", "compile"],
        group: _Group,
        call: _Call | None,
        frames: list[types.FrameType],
        seconds: float,
        explanation: Explanation = _NOT_KNOWN,
        *,
        is_hit: bool = False,
    ) -> None:
        fn = None if call is None else call.fn
        defined = group.defined
        self.on_seen(
            Seen(stage, group.name, defined, seconds, frames, fn, explanation, is_hit=is_hit)
        )

    def _group(self, name: str, frames: list[types.FrameType]) -> tuple[_Group, _Call | None]:
        call = _call(frames)
        code = None if call is None else _code(call.fn)
        if code is None:
            # A program that is compiled ahead of time: its function is the last of that name.
            for group in reversed(self._groups.values()):
                if group.name == name:
                    return group, call
        key = (name, _line(frames) if code is None else code)
        return self._groups.setdefault(key, _Group(name, code)), call


def _frames() -> list[types.FrameType]:
    """Return the stack from the innermost function of JAX outwards."""
    frames = []
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if frames or not frame.f_code.co_filename.startswith(_OURS):
            frames.append(frame)
        frame = frame.f_back
    return frames


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


def _line(frames: list[types.FrameType]) -> _Line:
    """Return the innermost line outside of installed packages, else of a package but JAX."""
    others = [frame for frame in frames if not frame.f_code.co_filename.startswith((_JAX, _OURS))]
    own = [frame for frame in others if not frame.f_code.co_filename.startswith(_INSTALLED)]
    frame = next(iter(own or others), None)
    if frame is None:
        return _Line("", 0, "")
    return _Line(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def _code(fn: Any) -> types.CodeType | None:
    fn = unwrapped(fn)
    code = getattr(fn, "__code__", None)  # a method has the code of its function
    return code or getattr(type(fn).__call__, "__code__", None)


def _wrapping(fn: Any) -> Iterator[types.CodeType]:
    """Yield the code of a function, and of the transformation that it stands for: JAX's wrappers
    share one code and hold what differs."""
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


def _function_name(program: str) -> str:
    """Return the name of the function of a program, ``jit(step)``."""
    return program.partition("(")[2].removesuffix(")") or program
