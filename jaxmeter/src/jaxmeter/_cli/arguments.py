"""Arguments for a function that is named on the command line."""

from __future__ import annotations

import inspect
import json
import pickle
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxmeter._measure.case import Case, name_of
from jaxmeter.errors import JaxmeterError

HOOK = "jaxmeter_arguments"
"""A function of the target's module: ``jaxmeter_arguments(name)`` returns the arguments for the
function of that name, as a tuple, or a `jaxmeter.Case`."""

_NAMED = re.compile(r"(?P<name>[^\W\d]\w*)=(?P<value>.*)", re.DOTALL)
_SHAPED = re.compile(r"(?P<dtype>\w+)\[(?P<shape>[\d, ]*)\]")
_MORE = {"--call": "jaxmeter_calls(name) in the module"}
_SHORT = re.compile(r"(bf|f|i|u|c)(\d+)")
_LONG = {"bf": "bfloat", "f": "float", "i": "int", "u": "uint", "c": "complex"}


def from_texts(texts: Sequence[str], option: str = "--arg") -> tuple[list[Any], dict[str, Any]]:
    """Arguments written as ``f64[64,3]``, ``x=f32[]``, ``n=3``, ``true``, by an option.

    Raises
    ------
    JaxmeterError
        If a text is none of these.
    """
    args, kwargs = [], {}
    for text in texts:
        named = _NAMED.fullmatch(text)
        if named is not None:
            kwargs[named["name"]] = _value(option, text, named["value"])
        elif kwargs:
            raise JaxmeterError(
                f"{option}: got {text!r} after a named one; give those without first"
            )
        else:
            args.append(_value(option, text, text))
    return args, kwargs


def _value(option: str, text: str, value: str) -> Any:
    shaped = _SHAPED.fullmatch(value.strip())
    if shaped is None:
        try:
            number = json.loads(value)
        except ValueError:
            number = None
        if not isinstance(number, (bool, int, float)):
            raise JaxmeterError(
                f"{option}: got {text!r}; give a type and shape such as f64[64,3], a number or "
                "true or false, after NAME= if it has a name; for more give "
                + _MORE.get(option, f"--npz, --pickle or {HOOK}")
            )
        return number
    short = _SHORT.fullmatch(shaped["dtype"])
    name = shaped["dtype"] if short is None else _LONG[short[1]] + short[2]
    try:
        dtype = jax.numpy.dtype(name)
        shape = tuple(int(n) for n in shaped["shape"].split(",") if n.strip())
    except (TypeError, ValueError) as error:
        raise JaxmeterError(
            f"{option}: got {text!r} ({error}); give a type and shape such as f64[64,3]"
        ) from None
    if dtype.itemsize * (1 + (dtype.kind != "c")) > 8 and not jax.config.read("jax_enable_x64"):
        raise JaxmeterError(
            f"{option}: got {text!r}, but JAX is without 64-bit numbers; set JAX_ENABLE_X64=1"
        )
    return jax.ShapeDtypeStruct(shape, dtype)


def static_options(fn: Callable[..., Any], names: Sequence[str]) -> dict[str, Any]:
    """Options of jit for static arguments.

    Raises
    ------
    JaxmeterError
        If the function takes none of such a name.
    """
    for name in names:
        if not _takes(fn, name):
            raise JaxmeterError(f"--static: got {name!r}; {name_of(fn)} takes {_taken(fn)}")
    return {"static_argnames": tuple(names)} if names else {}


def _takes(fn: Callable[..., Any], name: str) -> bool:
    """Whether a function may take an argument of this name; true if it does not tell."""
    try:
        parameters = inspect.signature(fn).parameters
    except (TypeError, ValueError):
        return True
    return name in parameters or any(p.kind == p.VAR_KEYWORD for p in parameters.values())


def _taken(fn: Callable[..., Any]) -> str:
    return ", ".join(inspect.signature(fn).parameters) or "no arguments"


def filled(leaf: Any) -> Any:
    """An array of ones for a `jax.ShapeDtypeStruct`, to be run; anything else as it is."""
    is_shape = isinstance(leaf, jax.ShapeDtypeStruct)
    return jax.numpy.ones(leaf.shape, leaf.dtype) if is_shape else leaf


def calls_from_texts(texts: Sequence[str]) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Calls, each written as ``f64[64,3] n=20``, with arrays of ones.

    Raises
    ------
    JaxmeterError
        If a text is none.
    """
    calls = []
    for text in texts:
        try:
            words = shlex.split(text)
        except ValueError as error:
            raise JaxmeterError(f"--call: got {text!r} ({error}); close what is quoted") from None
        args, kwargs = jax.tree.map(filled, from_texts(words, "--call"))
        calls.append((tuple(args), kwargs))
    return calls


def from_npz(file: str) -> tuple[list[Any], dict[str, Any]]:
    """The arrays of a file that numpy saved: ``arr_0``, ``arr_1`` in order, the others by name.

    Raises
    ------
    JaxmeterError
        If the file cannot be read.
    """
    try:
        with np.load(file) as data:
            arrays = dict(data)
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise JaxmeterError(
            f"--npz: got {file!r} ({error}); give a file of np.savez(file, x, name=y)"
        ) from None
    args = []
    while (name := f"arr_{len(args)}") in arrays:
        args.append(arrays.pop(name))
    return args, arrays


def from_pickle(file: str) -> tuple[list[Any], dict[str, Any]]:
    """A pickled tuple of arguments, or a pair of a tuple and a dictionary.

    Raises
    ------
    JaxmeterError
        If the file cannot be read or holds something else.
    """
    try:
        held = pickle.loads(Path(file).read_bytes())
    except Exception as error:  # unpickling may raise anything
        raise JaxmeterError(
            f"--pickle: got {file!r} ({error}); give a file of pickle.dump((args, kwargs), file)"
        ) from error
    if isinstance(held, tuple):
        if len(held) == 2 and isinstance(held[0], tuple) and isinstance(held[1], dict):
            return list(held[0]), held[1]
        return list(held), {}
    raise JaxmeterError(
        f"--pickle: got {type(held).__name__} in {file!r}; pickle a tuple of arguments, or the "
        "pair (args, kwargs)"
    )


def from_module(command: str, fn: Callable[..., Any], target: str, params: dict[str, Any]) -> Case:
    """The case that the target's module tells: by its hook, else by the target, which makes it.

    Raises
    ------
    JaxmeterError
        If what is returned is neither arguments nor a case.
    Exception
        Whatever the hook or the target raises.
    """
    module_name, _, name = target.partition(":")
    hook = getattr(sys.modules[module_name], HOOK, None)
    maker, named = (fn, target) if hook is None else (hook, f"{module_name}:{HOOK}")
    for parameter in params:
        if not _takes(maker, parameter):
            raise JaxmeterError(
                f"{command}: got --param {parameter} for {named}, which takes {_taken(maker)}"
            )
    if hook is None:
        if _needs_arguments(fn, params):
            got = f"no arguments for {target}"
        else:
            made = fn(**params)
            if isinstance(made, Case):
                return made
            got = f"{type(made).__name__} from {target}, which was called as it may make its case"
        raise JaxmeterError(
            f"{command}: got {got}; give --arg f64[64,3] for each argument, --npz, --pickle, or "
            f"--no-args if it takes none, define {HOOK}(name) in {module_name}, or name a "
            "function that returns jaxmeter.Case(fn, args)"
        )
    made = hook(name, **params)
    if isinstance(made, Case):
        return made
    if not isinstance(made, tuple):
        raise JaxmeterError(
            f"{command}: got {made!r:.80} from {module_name}.{HOOK}({name!r}); let it return a "
            "tuple of arguments, for one argument (x,), or a jaxmeter.Case"
        )
    return Case(fn, made)


def _needs_arguments(fn: Callable[..., Any], params: dict[str, Any]) -> bool:
    try:
        inspect.signature(fn).bind(**params)
    except (TypeError, ValueError):
        return True
    return False
