"""Turn the arrays that a function captures into an argument."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable
from typing import Any, cast

import jax
from jax.stages import Wrapped

from jaxmeter._capture.audit import holders_of
from jaxmeter._capture.constants import captured_values
from jaxmeter._capture.replay import replay
from jaxmeter._measure.case import Case, case_of, name_of
from jaxmeter._measure.counts import ExecutionCounter
from jaxmeter._program.jaxprs import inner
from jaxmeter._retrace.signatures import static_arguments
from jaxmeter.errors import JaxmeterError


def hoist(
    fn: Case | Callable[..., Any], *args: Any, **kwargs: Any
) -> tuple[Wrapped, dict[str, jax.Array]]:
    """Make a function that takes the captured arrays as its first argument.

    Parameters
    ----------
    fn : Case or callable
        The function, jitted or not; or a case, which may hold options of jit.
    *args, **kwargs : Any
        Its arguments; arrays may be given as `jax.ShapeDtypeStruct`.

    Returns
    -------
    hoisted : callable
        ``hoisted(constants, *args, **kwargs)`` returns what ``fn(*args, **kwargs)`` does. It is
        jitted, and may be jitted again with other options, differentiated and mapped, the
        constants included. It holds for arguments of the shapes and dtypes given here. Arguments
        that ``fn`` donates it donates.
    constants : dict
        The captured arrays of one dimension or more, by their paths as in `jaxmeter.audit`;
        arrays without a path are ``"constant 0"``, ``"constant 1"``, ...

    Raises
    ------
    JaxmeterError
        If there are static arguments, or if an array is captured inside a sub-program of a kind
        that cannot take another argument. ``hoisted`` raises it for arguments that do not fit.
    Exception
        Whatever the function raises while it is traced.

    Notes
    -----
    Nested jitted functions, loops, branches, rematerialised functions, custom derivatives and
    shard_map stay what they are; scalars stay where they are. A rule of custom derivatives
    captures again where ``hoisted`` is differentiated: hoist the derivative instead.

    The compiler folds constants and cannot fold arguments, so the results are bit for bit those
    of the function with arguments written by hand; next to the function with constants they may
    differ in the last bit where it computed with these alone.
    """
    case = case_of("hoist", fn, args, kwargs)
    args, kwargs = case.args, dict(case.kwargs)
    fn = jax.jit(case.fn, **case.jit_options) if case.jit_options else case.fn
    name = name_of(fn)
    leaves, tree = jax.tree.flatten((args, kwargs))
    untraced = _static_values(fn, args, kwargs) + [leaf for leaf in leaves if not _is_traced(leaf)]
    if untraced:
        raise JaxmeterError(
            f"hoist: got {untraced[0]!r:.80} in the arguments of {name}, which is static or of a "
            "kind that JAX cannot trace; bind static arguments first, "
            "hoist(functools.partial(f, name=value), ...)"
        )
    trace = jax.make_jaxpr(ExecutionCounter(fn).wrapped, return_shape=True)
    jaxpr, out_shape = trace(*args, **kwargs)
    hoistable = {key: value for key, (value, _) in captured_values(jaxpr).items() if value.ndim}
    keys = _named(fn, hoistable)
    out_tree = jax.tree.structure(out_shape)
    avals = inner(jaxpr).invars

    def hoisted(constants: dict[str, jax.Array], *args: Any, **kwargs: Any) -> Any:
        given = _fitting(name, (args, kwargs), tree, [variable.aval for variable in avals])
        if not isinstance(constants, dict) or constants.keys() != keys.keys():
            raise JaxmeterError(
                f"{name}: got constants {constants!r:.80}; give those that jaxmeter.hoist "
                f"returned, named {', '.join(keys)}"
            )
        values = {key: constants[path] for path, key in keys.items()}
        return jax.tree.unflatten(out_tree, replay(jaxpr, values, given))

    hoisted.__name__ = hoisted.__qualname__ = name
    hoisted.__doc__ = f"{name}, with its captured arrays as its first argument."
    constants = {path: _device_array(hoistable[key]) for path, key in keys.items()}
    donated = _donated_arguments(jaxpr, args)
    return jax.jit(hoisted, donate_argnums=[number + 1 for number in donated]), constants


def _is_traced(leaf: Any) -> bool:
    return hasattr(leaf, "shape") or isinstance(leaf, (bool, int, float, complex))


def _static_values(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[Any]:
    """Return the arguments that a jitted function takes as static."""
    numbers, names = static_arguments(getattr(fn, "_jit_info", None))
    own = [args[number] for number in numbers if -len(args) <= number < len(args)]
    return own + [value for name, value in kwargs.items() if name in names]


def _named(fn: Callable[..., Any], arrays: dict[Hashable, Any]) -> dict[str, Hashable]:
    """Return the arrays' keys by their paths, each path used once."""
    held = holders_of(fn, arrays)
    named: dict[str, Hashable] = {}
    for key in arrays:
        path = held[key][0].path if key in held else ""
        if not path or path in named:  # several arrays may be views of one
            paths = (f"{path or 'constant'} {number}" for number in range(len(arrays)))
            path = next(text for text in paths if text not in named)
        named[path] = key
    return named


def _device_array(array: Any) -> jax.Array:
    return array if isinstance(array, jax.Array) else jax.numpy.asarray(array.val, array.dtype)


def _fitting(name: str, arguments: Any, tree: Any, avals: list[Any]) -> list[Any]:
    """Return the leaves of the arguments; refuse shapes other than those hoisted for."""
    leaves, given_tree = jax.tree.flatten(arguments)
    advice = "call jaxmeter.hoist with such arguments"
    if given_tree != tree:
        raise JaxmeterError(
            f"{name}: got arguments of the structure {given_tree}, hoisted for {tree}; {advice}"
        )
    for leaf, aval in zip(leaves, avals, strict=True):
        got = cast(Any, jax.typeof(leaf))
        if (got.shape, got.dtype) != (aval.shape, aval.dtype):
            raise JaxmeterError(
                f"{name}: got {got.dtype}{list(got.shape)}, hoisted for "
                f"{aval.dtype}{list(aval.shape)}; {advice}"
            )
    return leaves


def _donated_arguments(jaxpr: Any, args: tuple[Any, ...]) -> list[int]:
    """Return the numbers of the positional arguments that the function itself donates."""
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
