"""Define a case: a callable with its arguments, ready to be measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from jaxmeter._records.plain_data import FrozenDict, freeze_mappings
from jaxmeter.errors import JaxmeterError

Call = tuple[tuple[Any, ...], dict[str, Any]]
"""The positional and the keyword arguments of a call."""

_WANTED = {
    "fn": (Callable, "a callable"),
    "args": ((tuple, list), "a tuple, such as Case(fn, (argument,)) for one argument"),
    "kwargs": (Mapping, "a dictionary"),
    "jit_options": (Mapping, "a dictionary"),
    "extras": (Mapping, "a dictionary"),
    "check": ((Callable, type(None)), "a callable that takes the answer, or None"),
}


@dataclass(frozen=True)
class Case:
    """A callable with its arguments, and a check of its answer.

    Parameters
    ----------
    fn : callable
        The function to measure. A plain function is passed to `jax.jit`. A function that is already
        jitted is used unchanged, and the runs of its Python body cannot be counted.
    args, kwargs : tuple, mapping
        The arguments of ``fn``. If the program donates an argument, measurements copy all arrays in
        the arguments before each call.
    jit_options : mapping
        Keyword arguments for `jax.jit`: ``static_argnames``, ``donate_argnums``, ...
    check : callable, optional
        A function that `jaxmeter.measure` and `jaxmeter.run_case` call once, with the answer of the
        last steady-state run. It returns named numbers, such as ``{"error_relative": 1e-7}``. If
        the check raises an exception, the measurement fails.
    extras : mapping
        Named numbers that were measured while the case was made.

    Raises
    ------
    JaxmeterError
        If a field has the wrong type.
    """

    fn: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = FrozenDict()
    jit_options: Mapping[str, Any] = FrozenDict()
    check: Callable[[Any], Mapping[str, float]] | None = None
    extras: Mapping[str, float] = FrozenDict()

    def __post_init__(self) -> None:
        for field, (kinds, wanted) in _WANTED.items():
            value = getattr(self, field)
            if not isinstance(value, kinds):
                raise JaxmeterError(f"Case: got {field}={value!r:.80}; give {wanted}")
        object.__setattr__(self, "args", tuple(self.args))
        freeze_mappings(self)
        object.__setattr__(self, "extras", FrozenDict(numbers("Case", "extras", self.extras)))


def case_of(
    call: str,
    fn: Case | Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] = FrozenDict(),
) -> Case:
    """Return ``fn`` if it is a `Case`; otherwise, make a `Case` from ``fn`` and its arguments.
    Error messages begin with ``call``, the name of a public function."""
    if not isinstance(fn, Case):
        if not callable(fn):
            raise JaxmeterError(f"{call}: got fn={fn!r:.80}; give a callable or a Case")
        return Case(fn, args, kwargs)
    if args or kwargs:
        raise JaxmeterError(
            f"{call}: got a Case and separate arguments ({len(args) + len(kwargs)} of them); "
            "put the arguments into the case: Case(fn, args)"
        )
    return fn


def numbers(call: str, what: str, named: Any) -> dict[str, float]:
    """Return a mapping of names to numbers as a dictionary of floats. Error messages begin with
    ``call`` and contain ``what``, the name of the mapping."""
    advice = 'give a dictionary of numbers by name, such as {"error_relative": 1e-7}'
    if not isinstance(named, Mapping):
        raise JaxmeterError(f"{call}: got {what} of type {type(named).__name__}; {advice}")
    result = {}
    for name, value in named.items():
        try:
            if not isinstance(name, str) or isinstance(value, (str, bytes)):
                raise TypeError
            result[name] = float(value)
        except (TypeError, ValueError):
            raise JaxmeterError(f"{call}: got {what}[{name!r}] = {value!r}; {advice}") from None
    return result


def split_call(given: tuple[Any, ...]) -> Call:
    """Return the positional and the keyword arguments of a call from a tuple of positional
    arguments, or from a pair (args, kwargs)."""
    if len(given) == 2 and isinstance(given[0], tuple) and isinstance(given[1], dict):
        return given
    return given, {}


def name_of(fn: Any) -> str:
    """Return the name of a callable. A partial or wrapper without a name has the name of the
    callable inside; any other callable without a name has the name of its class."""
    while getattr(fn, "__name__", None) is None:
        inside = fn.func if is_partial(fn) else getattr(fn, "__wrapped__", None)
        if inside is None:
            return type(fn).__name__
        fn = inside
    return fn.__name__


def is_partial(fn: Any) -> bool:
    """Return whether a callable is a partial of functools, JAX or a library such as equinox."""
    return (
        type(fn).__name__ in ("partial", "Partial")
        and callable(getattr(fn, "func", None))
        and isinstance(getattr(fn, "args", None), tuple)
        and isinstance(getattr(fn, "keywords", None), Mapping)
    )
