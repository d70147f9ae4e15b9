"""Define the results about traces and their causes as immutable plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from jaxmeter._records.plain_data import Result

Cause = Literal[
    "form",
    "structure",
    "shape",
    "dtype",
    "weak type",
    "static value",
    "static number",
    "new object",
    "new function",
    "placement",
    "option",
    "unknown",
]

SUGGESTIONS: dict[str, str] = {
    "form": "give {argument} the same way in every call: by position, by keyword or not at all",
    "structure": "give {argument} the same structure in every call: the same containers and keys, "
    "None in the same places, and equal static attributes (model.train() and model.eval() of flax "
    "nnx change static attributes, so each mode has its own program)",
    "shape": "pad {argument} to one shape, or to a few shapes, and mask the added elements",
    "dtype": "convert {argument} to one dtype before the call",
    "weak type": "pass {argument} as jnp.asarray({argument}, dtype): Python numbers are weakly "
    "typed, and so are results computed only from Python numbers",
    "static value": "make {argument} static only if Python needs its value; a program is compiled "
    "for each value and for each type of the value",
    "static number": "pass {argument} as an array, jnp.asarray({argument}), unless Python needs "
    "its value: the library that jits this function, such as equinox, makes Python numbers static, "
    "so a program is compiled for each number",
    "new object": "make {argument} once, outside the code that repeats the call, or give its "
    "class __eq__ and __hash__; if {argument} uses a variable that changes between calls, pass the "
    "variable as an argument instead: jaxmeter does not see such a change",
    "new function": "call jax.jit once, on a function that is defined once, outside the code that "
    "repeats the call; if a partial, a closure or an object holds values, pass these values as "
    "arguments",
    "placement": "put {argument} on its devices once, with jax.device_put",
    "option": "set {argument} once, before the first call",
    "unknown": "look for a static argument that does not equal itself, for caches that are "
    "cleared, and for jax_disable_jit",
}
"""The suggested change for each cause."""


@dataclass(frozen=True)
class Difference:
    """One difference between a call and an earlier call."""

    kind: Cause
    argument: str
    """The argument or a part of it, such as ``params['w']``; or the name of an option or a
    function."""
    before: str
    now: str

    @property
    def suggestion(self) -> str:
        """The suggested change that avoids the difference."""
        if self.kind == "shape" and _axes_count(self.before) != _axes_count(self.now):
            return f"give {self.argument or 'the argument'} the same number of axes in every call"
        return SUGGESTIONS[self.kind].format(argument=self.argument or "the argument")

    def __str__(self) -> str:
        match self.kind:
            case "unknown":
                return "no known cause"
            case "new function":
                return f"{self.now} of the same code, made again"
            case "new object":
                return f"{self.argument}: {self.now}, made again"
            case "option":
                return f"option {self.argument}: {self.before} -> {self.now}"
        return f"{self.kind} of {self.argument}: {self.before} -> {self.now}"


def _axes_count(shape: str) -> int:
    """Return the number of axes in the text of a shape, such as ``(3,)``."""
    return sum(bool(size.strip()) for size in shape.strip("()").split(","))


UNKNOWN = Difference("unknown", "", "", "")


@dataclass(frozen=True)
class TracedCall:
    """The traces and compiles of one call."""

    number: int
    """The position of the call, counted from 0."""
    executions_count: int | None
    """Runs of the Python body; None if the function was already jitted."""
    traces_count: int
    compiles_count: int
    cache_hits_count: int
    """Programs that were read from the persistent cache instead of being compiled."""
    seconds: float
    """The time of the call, including the work on the device."""
    nearest: int | None
    """The number of the earlier call that is most similar to this call. None for the first call,
    and for a call that neither traced nor compiled."""
    causes: tuple[Difference, ...]
    """The differences between this call and the call with the number ``nearest``; empty if
    ``nearest`` is None. There are three groups of differences: arguments, placements and options.
    Only the first group with a difference is given."""

    @property
    def traced(self) -> bool:
        """Whether the function was traced in this call."""
        count = self.traces_count if self.executions_count is None else self.executions_count
        return count > 0

    @property
    def compiled(self) -> bool:
        """Whether a program was compiled, or taken from the persistent cache, in this call."""
        return self.compiles_count + self.cache_hits_count > 0


@dataclass(frozen=True)
class Retraces(Result):
    """The traces and compiles of a sequence of calls."""

    derived = ("traces_count", "compiles_count", "cache_hits_count", "suggestions")

    name: str
    calls: tuple[TracedCall, ...]
    jax: str

    @property
    def traces_count(self) -> int:
        """The number of calls that traced the function, including the first such call."""
        return sum(call.traced for call in self.calls)

    @property
    def compiles_count(self) -> int:
        """The number of programs that were compiled."""
        return sum(call.compiles_count for call in self.calls)

    @property
    def cache_hits_count(self) -> int:
        """The number of programs that were read from the persistent cache."""
        return sum(call.cache_hits_count for call in self.calls)

    @property
    def retraces(self) -> tuple[TracedCall, ...]:
        """The calls after call 0 that traced or compiled the function."""
        return tuple(call for call in self.calls if call.nearest is not None)

    @property
    def suggestions(self) -> tuple[str, ...]:
        """The suggested changes, each only once."""
        return tuple(
            dict.fromkeys(cause.suggestion for call in self.retraces for cause in call.causes)
        )


@dataclass(frozen=True)
class Place:
    """A source line that called a jitted function."""

    file: str
    line: int
    function: str
    text: str
    traces_count: int
    compiles_count: int


@dataclass(frozen=True)
class WatchedFunction:
    """The traces and compiles of all jitted functions with the same name and the same code."""

    name: str
    defined: str
    """The ``file:line`` of the definition; empty if it is not known."""
    is_jax: bool
    """Whether this is a function of JAX itself, such as the functions behind jnp.where and eager
    operations."""
    traces_count: int
    compiles_count: int
    cache_hits_count: int
    objects_count: int | None
    """The number of function objects with this code that were traced; None for a function of JAX,
    or if the number is not known."""
    trace_seconds: float
    compile_seconds: float
    """Seconds of lowering and compiling."""
    places: tuple[Place, ...]
    causes: tuple[Difference, ...]
    """The known causes of traces and compiles after the first, each only once; empty for a function
    of JAX."""


@dataclass(frozen=True)
class Watched(Result):
    """The traces and compiles within a ``with`` block."""

    derived = ("traces_count", "compiles_count", "cache_hits_count", "suggestions")

    functions: tuple[WatchedFunction, ...]
    """The functions, the slowest to trace and compile first."""
    jax: str

    @property
    def traces_count(self) -> int:
        """The number of traces of all functions."""
        return sum(function.traces_count for function in self.functions)

    @property
    def compiles_count(self) -> int:
        """The number of programs that were compiled."""
        return sum(function.compiles_count for function in self.functions)

    @property
    def cache_hits_count(self) -> int:
        """The number of programs that were read from the persistent cache."""
        return sum(function.cache_hits_count for function in self.functions)

    @property
    def suggestions(self) -> tuple[str, ...]:
        """The suggested changes for functions other than JAX's own, each only once."""
        own = (function for function in self.functions if not function.is_jax)
        found = (
            f"{function.name}: {cause.suggestion}" for function in own for cause in function.causes
        )
        return tuple(dict.fromkeys(found))
