"""Turn the captured arrays of a function into an argument."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from jaxmeter._capture.audit import holders_of
from jaxmeter._capture.constants import captured_values
from jaxmeter._capture.functions import named_arguments
from jaxmeter._capture.replay import replay
from jaxmeter._measure.case import Case, case_of, name_of
from jaxmeter._measure.failures import beginning_in_users_code, raise_from_call
from jaxmeter._measure.jits import KnownJit, jit_of
from jaxmeter._measure.staging import filled, merged, split
from jaxmeter._program.jaxprs import inner
from jaxmeter._retrace.signatures import Signature, causes, signature
from jaxmeter._retrace.static import static_arguments
from jaxmeter.errors import JaxmeterError


@beginning_in_users_code
def hoist(
    fn: Case | Callable[..., Any], *args: Any, **kwargs: Any
) -> tuple[Callable[..., Any], dict[str, jax.Array]]:
    """Turn the captured arrays of a function into its first argument.

    Parameters
    ----------
    fn : Case or callable
        The function, jitted or not, or a `Case`, which may have options for `jax.jit`.
    *args, **kwargs : Any
        The arguments of the function. Arrays may be replaced by `jax.ShapeDtypeStruct`.

    Returns
    -------
    hoisted : callable
        ``hoisted(constants, *args, **kwargs)`` returns the same as ``fn(*args, **kwargs)``.
        ``hoisted`` calls a jitted function, and may be jitted again with other options. It may be
        differentiated with respect to any argument, and mapped over any argument, including the
        constants. Its arguments must have the structure, shapes, dtypes and static values of the
        arguments that `hoist` got. The static values are the static arguments and all leaves that
        are neither arrays nor numbers.
        ``hoisted`` donates the positional arguments that ``fn`` donates, but no keyword arguments.
    constants : dict
        The captured arrays of one dimension or more. The keys are the paths that `jaxmeter.audit`
        shows. Arrays without a path are named ``"constant 0"``, ``"constant 1"``, ... If several
        arrays have the path ``weights``, they are named ``"weights"``, ``"weights 0"``, ...

    Raises
    ------
    JaxmeterError
        If the function or an argument cannot be used. ``hoisted`` also raises this error:

        - if the keys of the first argument differ from the keys of ``constants``;
        - if the arguments after ``constants`` differ from the arguments that `hoist` got in
          structure, shape, dtype or static value;
        - if an array is captured inside an operation that cannot take another argument;
        - if a function with a custom derivative captures a constant, and ``hoisted`` is
          differentiated with respect to this constant, even with a zero tangent.
    Exception
        Any exception that the function raises while it is traced.

    Notes
    -----
    Nested jitted functions, loops, branches, rematerialised functions, custom derivatives and
    shard_map are kept. Captured scalars stay captured. If ``hoisted`` is differentiated, the rules
    of custom derivatives capture their arrays again. To avoid this, hoist the derivative instead.

    The results have the same bits as if the arrays had been made arguments of ``fn`` by hand. The
    results may differ in the last bit from the results of ``fn`` if some operations of ``fn``
    depend only on captured arrays. The compiler folds such operations in ``fn``, but not in
    ``hoisted``.
    """
    case = case_of("hoist", fn, args, kwargs)
    known = None if case.jit_options else jit_of(case.fn)
    if not isinstance(known, KnownJit):
        fn = jax.jit(case.fn, **case.jit_options) if case.jit_options else case.fn
        return _hoisted(fn, case.fn, case.args, case.kwargs)

    jitted, constants = known.leave_with(
        lambda *args, **kwargs: _hoisted(known.jit, case.fn, args, kwargs),
        *filled((case.args, dict(case.kwargs))),
    )

    def hoisted(constants: dict[str, jax.Array], *args: Any, **kwargs: Any) -> Any:
        return known.call_with(functools.partial(jitted, constants), args, kwargs)

    return _described(hoisted, name_of(case.fn)), constants


def _hoisted(
    fn: Callable[..., Any],
    holder: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> tuple[Callable[..., Any], dict[str, jax.Array]]:
    """Return a function that takes the captured arrays of ``fn`` as its first argument. Also return
    a dictionary from paths to these arrays. Each path begins at ``holder``, which is the user's
    function, or at one of the function's arguments."""
    name = name_of(holder)
    static = static_arguments(getattr(fn, "_jit_info", None))
    given = args, kwargs
    fixed, (args, kwargs) = split(args, kwargs, static)
    fixed_answers: dict[int, Any] = {}

    def answers(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = merged(fixed, args, kwargs)
        found, answer = split((fn(*args, **kwargs),), {})
        fixed_answers.update(found)
        return answer

    try:
        jaxpr, out_shape = jax.make_jaxpr(answers, return_shape=True)(*args, **kwargs)
    except Exception as error:
        raise_from_call("hoist", holder, *given, error)
    hoistable = {key: value for key, (value, _) in captured_values(jaxpr).items() if value.ndim}
    keys = _named(holder, hoistable, named_arguments(holder, *given))
    in_tree, out_tree = jax.tree.structure((args, kwargs)), jax.tree.structure(out_shape)
    types = _types(variable.aval for variable in inner(jaxpr).invars)
    call, traced_call = signature(fn, *given, static), signature(fn, args, kwargs)

    def hoisted(constants: dict[str, jax.Array], *args: Any, **kwargs: Any) -> Any:
        leaves, tree = jax.tree.flatten((args, kwargs))
        if tree != in_tree or _types(map(jax.typeof, leaves)) != types:
            raise _other_arguments(name, traced_call, signature(fn, args, kwargs))
        if not isinstance(constants, dict) or constants.keys() != keys.keys():
            names = f", named {', '.join(keys)}" if keys else ", an empty dictionary"
            raise JaxmeterError(
                f"{name}: got constants {constants!r:.80}; give the constants that "
                f"jaxmeter.hoist returned{names}"
            )
        values = {key: constants[path] for path, key in keys.items()}
        (answer,), _ = out_tree.unflatten(replay(jaxpr, values, leaves))
        return answer

    donated = [number + 1 for number in _donated_arguments(jaxpr, args)]
    arrays = {path: hoistable[key] for path, key in keys.items()}
    constants = {path: jnp.asarray(getattr(array, "val", array)) for path, array in arrays.items()}
    jitted = jax.jit(_described(hoisted, name), donate_argnums=donated)
    if not fixed and not fixed_answers:
        return jitted, constants

    def hoisted_with_fixed(constants: dict[str, jax.Array], *args: Any, **kwargs: Any) -> Any:
        given, (traced_args, traced_kwargs) = split(args, kwargs, static)
        if given != fixed:
            raise _other_arguments(name, call, signature(fn, args, kwargs, static))
        answer = jitted(constants, *traced_args, **traced_kwargs)
        return merged(fixed_answers, (answer,), {})[0][0]

    return _described(hoisted_with_fixed, name), constants


def _described(hoisted: Callable[..., Any], name: str) -> Callable[..., Any]:
    hoisted.__name__ = hoisted.__qualname__ = name
    hoisted.__doc__ = f"{name}, with its captured arrays as its first argument."
    return hoisted


def _named(
    fn: Callable[..., Any], arrays: dict[Hashable, Any], arguments: Mapping[str, Any]
) -> dict[str, Hashable]:
    """Return a dictionary from a unique path of each array to the key of the array."""
    held = holders_of(fn, arrays, arguments)
    named: dict[str, Hashable] = {}
    for key in arrays:
        path = held[key][0].path if key in held else ""
        if not path or path in named:  # several arrays may be views of one array
            paths = (f"{path or 'constant'} {number}" for number in range(len(arrays)))
            path = next(text for text in paths if text not in named)
        named[path] = key
    return named


def _types(avals: Iterable[Any]) -> list[Any]:
    return [(aval.shape, aval.dtype) for aval in avals]


def _other_arguments(name: str, before: Signature, now: Signature) -> JaxmeterError:
    """Return the error for arguments of ``hoisted`` that differ from the arguments of `hoist`."""
    _, differences = causes(now, [before])
    texts = [
        f"{one.kind} of {one.argument}: {one.before} -> {one.now}"
        for one in differences
        if one.kind != "weak type"  # hoisted functions accept other weak types
    ]
    return JaxmeterError(
        f"{name}: got other arguments than jaxmeter.hoist: "
        f"{'; '.join(texts) or 'an unknown difference'}; call jaxmeter.hoist again with the new "
        "arguments"
    )


def _donated_arguments(jaxpr: Any, args: tuple[Any, ...]) -> list[int]:
    """Return the positions of the positional arguments that the traced function donates."""
    donated = set()
    for equation in inner(jaxpr).eqns:
        flags = equation.params.get("donated_invars", ())
        donated.update(itertools.compress(equation.invars, flags))
    variables = iter(inner(jaxpr).invars)
    numbers = []
    for number, argument in enumerate(args):
        own = [next(variables) for _ in jax.tree.leaves(argument)]
        if own and donated.issuperset(own):
            numbers.append(number)
    return numbers
