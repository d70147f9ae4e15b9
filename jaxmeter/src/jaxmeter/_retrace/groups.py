"""Collect the traces and compiles of each function, and explain retraces and recompilations."""

from __future__ import annotations

import dataclasses
import functools
import types
import weakref
from collections import Counter
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from jaxmeter._capture.functions import cells, unwrapped
from jaxmeter._measure.staging import Static
from jaxmeter._program import places
from jaxmeter._records.retraces import Difference, Place, WatchedFunction
from jaxmeter._retrace.signatures import Signature, causes

_LOOPS = ("scan", "while", "cond")


class Call(NamedTuple):
    """The innermost call of a jitted function on the stack, with the arguments of the call."""

    fn: Any
    signature: Signature | None
    """None if the call is inside another transformation, which replaces the arguments."""
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = MappingProxyType({})
    static: Static = ((), ())


class Explanation(NamedTuple):
    """The reason for a trace or a compile of a function."""

    kind: Literal["first", "again", "JAX's own", "not known"]
    causes: tuple[Difference, ...] = ()
    """The known differences from an earlier call; empty if no difference is known."""


@dataclasses.dataclass
class Group:
    """The traces and compiles of all functions that have the same name and the same code."""

    name: str
    code: types.CodeType | None
    traced_at: Counter[places.Place] = dataclasses.field(default_factory=Counter)
    """The number of traces that each source line led to."""
    compiled_at: Counter[places.Place] = dataclasses.field(default_factory=Counter)
    cache_hits_count: int = 0
    trace_seconds: float = 0.0
    compile_seconds: float = 0.0
    objects: list[weakref.ref | None] = dataclasses.field(default_factory=list)
    """A weak reference to each traced function; None if such a reference is not possible."""
    kinds: set[tuple[Any, ...]] = dataclasses.field(default_factory=set)
    """The kinds of the traced functions. Each kind is a tuple: a text, such as ``a lambda``, then
    the code objects from `_wrapping`."""
    calls: list[tuple[int, Signature]] = dataclasses.field(default_factory=list)
    """For each explained call: the position of the function in `objects`, and the signature of the
    call."""
    loops: list[tuple[places.Place, Signature]] = dataclasses.field(default_factory=list)
    """The source line and the signature of each traced loop or branch outside of any jit."""
    causes: dict[Difference, None] = dataclasses.field(default_factory=dict)

    @property
    def defined(self) -> str:
        """The ``file:line`` where the function is defined; empty if it is not known."""
        code = self.code
        return "" if code is None else f"{code.co_filename}:{code.co_firstlineno}"

    @property
    def is_jax(self) -> bool:
        """Whether the function is defined in JAX itself."""
        return self.code is not None and places.owner(self.code.co_filename) == "JAX"

    def number_of(self, fn: Any) -> int:
        """Return the position of a function in `objects`; append an entry if there is none."""
        for number, reference in enumerate(self.objects):
            if reference is not None and reference() is fn:
                return number
        try:
            self.objects.append(weakref.ref(fn))
        except TypeError:
            self.objects.append(None)
        return len(self.objects) - 1

    def explain(self, call: Call | None, at: places.Place, *, traced: bool) -> Explanation:
        """Return the reason for a trace (if `traced` is true) or a compile. `at` is the line of the
        call. Add the causes to `causes`, unless the function belongs to JAX."""
        if call is None or call.signature is None:
            return Explanation("JAX's own" if self.is_jax else "not known")
        if self.is_jax:
            is_loop = traced and self.name in _LOOPS
            return self._explain_loop(call.signature, at) if is_loop else Explanation("JAX's own")
        number = self.number_of(call.fn)
        same = [earlier for other, earlier in self.calls if other == number]
        self.calls.append((number, call.signature))
        found: tuple[Difference, ...] = ()
        if same:
            # A compile has the signature of the trace before it, so the compile adds no cause.
            found = causes(call.signature, same)[1]
        elif traced:
            kind = _kind(call.fn)
            made = (kind, *_wrapping(call.fn))  # jax.vmap(f) does not count as a new f
            if made in self.kinds:
                found = (Difference("new function", self.name, kind, kind),)
            self.kinds.add(made)
        self.causes.update(dict.fromkeys(found))
        return Explanation("again" if same or found else "first", found)

    def _explain_loop(self, now: Signature, at: places.Place) -> Explanation:
        """Explain the trace of a loop or branch outside of any jit. If an earlier call at the same
        line had the same arguments, the reason is that the body is a new function object."""
        earlier = [before for line, before in self.loops if line == at]
        self.loops.append((at, now))
        if earlier and not causes(now, earlier)[1]:
            made = Difference("new object", f"the body of {self.name}", "a function", "a function")
            return Explanation("again", (made,))
        return Explanation("JAX's own")

    def report(self) -> WatchedFunction:
        """Return the counts, times, calling lines and causes as plain data."""
        calls = tuple(
            Place(
                *at,
                text=at.text,
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
            places=calls,
            causes=tuple(self.causes),
        )


def code_of(fn: Any) -> types.CodeType | None:
    """Return the code of the function inside a callable's wrappers. For a callable object that is
    not a function, return the code of its ``__call__``. Return None if there is no Python code."""
    fn = unwrapped(fn)
    code = getattr(fn, "__code__", None)  # a method has the code of its function
    return code or getattr(type(fn).__call__, "__code__", None)


def _wrapping(fn: Any) -> Iterator[types.CodeType]:
    """Yield the code of a Python function, then the code of each JAX function in its closure. All
    wrappers made by JAX have the same code. Only their closures, which hold the transformation,
    differ."""
    if isinstance(fn, types.FunctionType):
        yield fn.__code__
        for _, held in cells(fn):
            if isinstance(held, types.FunctionType):
                if places.owner(held.__code__.co_filename) == "JAX":
                    yield held.__code__


def _kind(fn: Any) -> str:
    if isinstance(fn, functools.partial):
        return "a partial"
    if isinstance(fn, types.MethodType):
        return "a bound method"
    if not isinstance(fn, types.FunctionType):
        return f"a {type(fn).__name__}"
    return "a lambda" if fn.__name__ == "<lambda>" else "a function"
