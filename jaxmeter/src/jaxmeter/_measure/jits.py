"""Find the `jax.jit` that a call goes to: through methods, partials, objects and other libraries.

A function that equinox or flax has jitted passes the arrays of its arguments, and of the object
that it is a method of, to a `jax.jit` of its own, and holds everything else fixed. That `jax.jit`
is traced here, with the very arguments that the library makes for it, so that the program is the
one that a call runs.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import jax

from jaxmeter._measure.case import is_partial, name_of
from jaxmeter.errors import JaxmeterError

_JaxJit = type(jax.jit(len))


class _Left(BaseException):
    """Leaves a library's function with a result, before it runs anything.

    Not an Exception, which the library might handle.
    """


class KnownJit:
    """A callable whose call is that of one jitted function, with the methods of `jax.jit`.

    Parameters
    ----------
    fn : callable
        What is called: a bound method, a partial, an object, a function jitted by a library.
    owner : object
        The jitted function itself: of JAX, or of a library.
    attribute : str
        Where a library's function keeps its `jax.jit`; empty for one of JAX.
    args, keywords : tuple, mapping
        What ``fn`` passes before its own arguments.
    """

    def __init__(
        self, fn: Any, owner: Any, attribute: str, args: tuple[Any, ...], keywords: Mapping
    ) -> None:
        self.fn, self.owner, self.attribute = fn, owner, attribute
        self.args, self.keywords = args, keywords
        self.jit = getattr(owner, attribute) if attribute else owner
        self.clear_cache: Callable[[], None] = self.jit.clear_cache
        self.__wrapped__ = fn
        self.__name__ = getattr(self.jit, "__name__", name_of(fn))

    @property
    def _jit_info(self) -> Any:
        """The static arguments, as JAX's own functions know them; a library has its own."""
        known = None if self.attribute else getattr(self.jit, "_jit_info", None)
        numbers = getattr(known, "static_argnums", None) or ()
        taken = len(self.args)
        return types.SimpleNamespace(
            static_argnums=[n - taken if n >= 0 else n for n in numbers if not 0 <= n < taken],
            static_argnames=getattr(known, "static_argnames", ()),
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fn(*args, **kwargs)

    def trace(self, *args: Any, **kwargs: Any) -> Any:
        """Trace as a call would, and run nothing."""
        return self.leave_with(self.jit.trace, args, kwargs)

    def lower(self, *args: Any, **kwargs: Any) -> jax.stages.Lowered:
        """Trace and lower as a call would."""
        return self.trace(*args, **kwargs).lower()

    def leave_with(self, use: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping) -> Any:
        """Return ``use(...)`` of what a call passes to `jax.jit`; the call goes no further."""
        if not self.attribute:
            return self.call_with(use, args, kwargs)

        def leave(*given: Any, **named: Any) -> NoReturn:
            raise _Left(use(*given, **named))

        try:
            self.call_with(leave, args, kwargs)
        except _Left as left:
            return left.args[0]
        raise JaxmeterError(
            f"{self.__name__}: got a function of {type(self.owner).__module__} that did not call "
            "its jax.jit; give jaxmeter the function without that library's jit"
        )

    def call_with(self, jit: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping) -> Any:
        """Call the function with another in place of its `jax.jit`."""
        if not self.attribute:
            return jit(*self.args, *args, **self.keywords, **kwargs)
        # A library's function may be immutable to its users.
        object.__setattr__(self.owner, self.attribute, jit)
        try:
            return self.fn(*args, **kwargs)
        finally:
            object.__setattr__(self.owner, self.attribute, self.jit)


def jit_of(fn: Any) -> Any:
    """Return the jitted function that a call of ``fn`` goes to, `jax.jit`'s own or a `KnownJit`.

    None if a call does more than to call it: such a function has yet to be jitted.
    """
    if isinstance(fn, (_JaxJit, KnownJit)):
        return fn
    found = _found(fn, (), {})
    if found is None:
        return fn if isinstance(fn, jax.stages.Wrapped) else None
    return KnownJit(fn, *found)


def _found(
    fn: Any, args: tuple[Any, ...], keywords: Mapping[str, Any]
) -> tuple[Any, str, tuple[Any, ...], Mapping[str, Any]] | None:
    if isinstance(fn, _JaxJit):
        return fn, "", args, keywords
    if isinstance(fn, (types.FunctionType, type, types.MethodWrapperType)):
        return None
    attribute = attribute_of_jit(fn)
    if attribute is not None:
        return fn, attribute, args, keywords
    if is_partial(fn):
        return _found(fn.func, (*fn.args, *args), {**fn.keywords, **keywords})
    if getattr(fn, "__self__", None) is not None and hasattr(fn, "__func__"):
        return _found(fn.__func__, (fn.__self__, *args), keywords)
    if not callable(fn) or isinstance(type(fn).__call__, types.WrapperDescriptorType):
        return None
    return _found(fn.__call__, args, keywords)


def attribute_of_jit(fn: Any) -> str | None:
    """Return where a library's jitted function keeps its `jax.jit`; None if it is no such one."""
    if not (hasattr(fn, "lower") and hasattr(fn, "__wrapped__")):
        return None
    own = getattr(fn, "__dict__", {}).items()
    names = (name for name, value in own if isinstance(value, _JaxJit) and name != "__wrapped__")
    return next(names, None)
