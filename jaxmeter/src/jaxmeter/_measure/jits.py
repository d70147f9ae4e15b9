"""Find the jitted function that a call reaches through methods, partials, objects and libraries.

A function jitted by a library, such as equinox or flax, contains an inner function, made by
`jax.jit`. A call passes the arrays in its arguments to the inner function, and may hold everything
else fixed. For a method, the arrays in the object are also passed. jaxmeter traces the inner
function with the arguments that a call passes, so the traced program is the program that a call
runs.
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
    """Raised to leave a library's function with a result, before the function runs its program.
    This class is not an Exception, because the library might catch every Exception."""


class KnownJit:
    """A wrapper of the callable ``fn``. Either a library jitted ``fn``, or ``fn`` calls a jitted
    function. The wrapper has the methods ``trace``, ``lower`` and ``clear_cache`` of a `jax.jit`
    object.

    ``owner`` is the jitted function: ``fn`` itself, or the function that ``fn`` calls. If a library
    jitted ``owner``, ``attribute`` names the attribute that holds the `jax.jit` object; otherwise
    ``attribute`` is empty. ``fn`` adds ``args`` and ``keywords`` to the arguments of each call.
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
        """The options of the jit, in the form that JAX's jitted functions use; empty for a
        library's function. The positions of static arguments are those in a call of ``fn``. The
        positions of donated arguments are not known, because older versions of JAX renumber them;
        ``donated`` has JAX's numbers."""
        known = None if self.attribute else getattr(self.jit, "_jit_info", None)
        options = {name: getattr(known, name) for name in dir(known) if name[0] != "_"}
        numbers = options.get("static_argnums") or ()
        taken = len(self.args)
        options["static_argnums"] = [
            n - taken if n >= 0 else n for n in numbers if not 0 <= n < taken
        ]
        options["donated"] = options.pop("donate_argnums", ())
        return types.SimpleNamespace(**options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fn(*args, **kwargs)

    def trace(self, *args: Any, **kwargs: Any) -> Any:
        """Trace the function as a call would, without running it."""
        return self.leave_with(self.jit.trace, args, kwargs)

    def lower(self, *args: Any, **kwargs: Any) -> jax.stages.Lowered:
        """Trace and lower the function as a call would, without running it."""
        return self.trace(*args, **kwargs).lower()

    def leave_with(self, use: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping) -> Any:
        """Call the function with ``use`` in place of its `jax.jit` object, and return the result of
        ``use``. The call ends as soon as ``use`` returns, so the program is not run."""
        if not self.attribute:
            return self.call_with(use, args, kwargs)

        def leave(*given: Any, **named: Any) -> NoReturn:
            raise _Left(use(*given, **named))

        try:
            self.call_with(leave, args, kwargs)
        except _Left as left:
            return left.args[0]
        raise JaxmeterError(
            f"jaxmeter: got {self.__name__}, a function jitted by {type(self.owner).__module__}, "
            "but a call of this function did not reach jax.jit; give jaxmeter the function without "
            "this jit"
        )

    def call_with(self, jit: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping) -> Any:
        """Call the function with ``jit`` in place of its `jax.jit` object."""
        if not self.attribute:
            return jit(*self.args, *args, **self.keywords, **kwargs)
        # The class of a library's function may forbid setattr.
        object.__setattr__(self.owner, self.attribute, jit)
        try:
            return self.fn(*args, **kwargs)
        finally:
            object.__setattr__(self.owner, self.attribute, self.jit)


def jit_of(fn: Any) -> Any:
    """Return the jitted function that a call of ``fn`` reaches. Return None if there is no such
    function; jaxmeter then jits ``fn``.

    The result is ``fn`` itself if ``fn`` was made by `jax.jit`. The result is a `KnownJit` for a
    function jitted by a library, and for a method, a partial or an object that calls a jitted
    function. Any other object with the methods of a jitted function is returned unchanged. Plain
    Python functions are not searched.
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
    """If a library has jitted a function, return the name of the function's attribute that holds
    the `jax.jit` object. For any other object, return None."""
    if not (hasattr(fn, "lower") and hasattr(fn, "__wrapped__")):
        return None
    own = getattr(fn, "__dict__", {}).items()
    names = (name for name, value in own if isinstance(value, _JaxJit) and name != "__wrapped__")
    return next(names, None)
