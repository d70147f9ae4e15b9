"""Read functions and their arguments from the options of a command line.

The module that contains the first function is imported before JAX, so this module can set options
of JAX.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import inspect
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from jaxmeter._cli.argument_files import arguments_of_npz, arguments_of_pickle
from jaxmeter._measure.case import Call, Case, name_of
from jaxmeter._measure.targets import (
    check_parameters,
    module_of,
    resolve,
    split_target,
    taken,
    takes,
)
from jaxmeter._records.comparison import Side
from jaxmeter._records.record import Scalar
from jaxmeter.errors import JaxmeterError

ARGUMENTS_HOOK = "jaxmeter_arguments"
"""The name of a function that the user's module may define. ``jaxmeter_arguments(name)`` returns
a tuple with the arguments of the function ``name``, or a `jaxmeter.Case`. The values of
``--param`` are passed to ``jaxmeter_arguments`` as keyword arguments."""
CALLS_HOOK = "jaxmeter_calls"
"""The name of a function that the user's module may define. ``jaxmeter_calls(name)`` returns a list
of calls of the function ``name``."""

_NAMED = re.compile(r"(?P<name>[^\W\d]\w*)=(?P<value>.*)", re.DOTALL)
_ARGUMENT = re.compile(r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s"'])+""")
"""Matches one argument in the text of ``--call``. An argument may contain spaces only inside
quotation marks."""
_SHAPED = re.compile(r"(?P<dtype>\w+)\[(?P<shape>[\d, ]*)\]")
_SHORT = re.compile(r"(bf|f|i|u|c)(\d+)")
_LONG = {"bf": "bfloat", "f": "float", "i": "int", "u": "uint", "c": "complex"}
_EXAMPLE = "give a type and shape such as f64[64,3]"
_ALTERNATIVES = {
    "--arg": f"--npz, --pickle or {ARGUMENTS_HOOK}",
    "--call": f"{CALLS_HOOK}(name) in the module",
}


def case_from_options(command: str, target: str, options: argparse.Namespace | Side) -> Case:
    """Return the case that a target and the options describe: a function with its arguments.

    Parameters
    ----------
    command : str
        The name of the command, for error messages.
    target : str
        ``package.module:function`` or ``file.py:function``.
    options : argparse.Namespace or Side
        The options that `add_target_options` defines: ``arg``, ``npz``, ``pickle``, ``no_args``,
        ``static`` and ``param``. If none of the first four is given, ``jaxmeter_arguments`` of the
        module makes the arguments or the case. If the module does not define
        ``jaxmeter_arguments``, the target is called and must return the case.

    Returns
    -------
    Case
        The function and its arguments, or the case from ``jaxmeter_arguments`` or from the target.
        The names in ``static`` are added to the static arguments.

    Raises
    ------
    JaxmeterError
        If the function does not exist, or if an option cannot be used.
    Exception
        Any exception that is raised while the module is imported or the arguments are made.
    """
    fn = resolve(target, command)
    sources = {
        "arg": lambda: parse_arguments(options.arg, static=options.static),
        "npz": lambda: arguments_of_npz(str(options.npz)),
        "pickle": lambda: arguments_of_pickle(str(options.pickle)),
        "no_args": lambda: ((), {}),
    }
    source = next((name for name in sources if getattr(options, name)), None)
    if source is None:
        case = _from_module(command, fn, target, dict(map(parse_parameter, options.param)))
    elif options.param:
        raise JaxmeterError(
            f"{command}: got --param {options.param[0]} and --{source.replace('_', '-')}; the two "
            "cannot be combined; for a function that makes a case, give only --param; for any "
            "other function, give only arguments, with --arg, --npz or --pickle"
        )
    else:
        case = Case(fn, *sources[source]())
    jit_options = static_options(case.fn, options.static, case.jit_options)
    return dataclasses.replace(case, jit_options=jit_options)


def calls_from_options(target: str, texts: Sequence[str]) -> Any:
    """Return the calls from the options ``--call``, or else from ``jaxmeter_calls`` of the module.

    Return None if there are no such options and the module does not define ``jaxmeter_calls``.
    """
    if texts:
        return list(map(_parse_call, texts))
    hook = getattr(module_of(target), CALLS_HOOK, None)
    return None if hook is None else hook(split_target(target)[1])


def with_arrays(case: Case) -> Case:
    """Return a case that can be run: with an array of ones or of random keys in place of each
    `jax.ShapeDtypeStruct`."""
    from jaxmeter._measure.staging import filled

    args, kwargs = filled((case.args, dict(case.kwargs)))
    return dataclasses.replace(case, args=args, kwargs=kwargs)


def parse_parameter(text: str) -> tuple[str, Scalar]:
    """Return the name and the value of ``NAME=VALUE``; a value that is not JSON is a string.

    Raises
    ------
    JaxmeterError
        If the string has no ``=``.
    """
    name, equals, value = text.partition("=")
    if not equals:
        raise JaxmeterError(f"--param: got {text!r}; give NAME=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def parse_arguments(
    texts: Sequence[str], option: str = "--arg", *, static: Collection[str] = ()
) -> Call:
    """Return the positional arguments and the named arguments that the options describe.

    Examples of ``texts`` are ``f64[64,3]``, ``x=f32[]``, ``n=3``, ``true``, ``"fast"`` and
    ``(3, 4)``. A string for a named argument in ``static`` needs no quotation marks: ``mode=fast``.
    Error messages name the ``option``.
    """
    args, kwargs = [], {}
    for text in texts:
        named = _NAMED.fullmatch(text)
        if named is not None:
            name = named["name"]
            kwargs[name] = _parse_value(option, text, named["value"], is_text=name in static)
        elif kwargs:
            raise JaxmeterError(
                f"{option}: got {text!r} after a named argument; give positional arguments first"
            )
        else:
            args.append(_parse_value(option, text, text))
    return tuple(args), kwargs


def static_options(
    fn: Callable[..., Any], names: Sequence[str], options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return ``options`` of `jax.jit`, with ``names`` added to the names of static arguments."""
    for name in names:
        if not takes(fn, name):
            raise JaxmeterError(
                f"--static: got {name!r}, but {name_of(fn)} takes {taken(fn)}; give only names of "
                "arguments that the function takes"
            )
    if not names:
        return dict(options)
    known = options.get("static_argnames", ())
    known = (known,) if isinstance(known, str) else known
    return {**options, "static_argnames": (*known, *names)}


def _parse_value(option: str, text: str, value: str, *, is_text: bool = False) -> Any:
    import jax

    shaped = _SHAPED.fullmatch(value.strip())
    if shaped is None:
        try:
            return _literal(value)
        except (ValueError, SyntaxError, TypeError):
            if is_text:
                return value
        raise JaxmeterError(
            f"{option}: got {text!r}; {_EXAMPLE}, a number, true or false, a quoted string or a "
            "tuple. For a named argument, put NAME= in front; for other values, use "
            f"{_ALTERNATIVES[option]}"
        )
    short = _SHORT.fullmatch(shaped["dtype"])
    name = shaped["dtype"] if short is None else _LONG[short[1]] + short[2]
    try:
        dtype = jax.numpy.dtype(name)
        shape = tuple(int(n) for n in shaped["shape"].split(",") if n.strip())
    except (TypeError, ValueError) as error:
        raise JaxmeterError(f"{option}: got {text!r} ({error}); {_EXAMPLE}") from None
    if dtype.kind not in "biufcV":  # V: types of ml_dtypes, such as bfloat16
        raise JaxmeterError(
            f"{option}: got {text!r}, but JAX has no arrays of this type; {_EXAMPLE}"
        )
    if dtype.itemsize * (1 + (dtype.kind != "c")) > 8 and not jax.config.read("jax_enable_x64"):
        raise JaxmeterError(
            f"{option}: got {text!r}, but 64-bit numbers are off in JAX; set JAX_ENABLE_X64=1"
        )
    return jax.ShapeDtypeStruct(shape, dtype)


def _literal(text: str) -> Any:
    """Return the number, boolean, string or tuple that ``text`` describes in JSON or Python."""
    try:
        value = json.loads(text)
    except ValueError:
        value = ast.literal_eval(text.strip())
    value = _hashable(value)
    if not isinstance(value, (bool, int, float, str, tuple)):
        raise ValueError(text)
    return value


def _hashable(value: Any) -> Any:
    """Return a value with tuples in place of lists, because static arguments must be hashable."""
    return tuple(map(_hashable, value)) if isinstance(value, (list, tuple)) else value


def _parse_call(text: str) -> Call:
    """Return the arguments of a call such as ``f64[64,3] n=20 mode="fast"``. Arrays are filled with
    ones."""
    from jaxmeter._measure.staging import filled

    if _ARGUMENT.sub("", text).strip():
        raise JaxmeterError(
            f"--call: got {text!r}; close all quotation marks, and write \\ before a quotation "
            "mark in a string"
        )
    return filled(parse_arguments(_ARGUMENT.findall(text), "--call"))


def _from_module(
    command: str, fn: Callable[..., Any], target: str, params: dict[str, Scalar]
) -> Case:
    """Return the case from the module's ``jaxmeter_arguments``, or else from the target itself."""
    module_name, name = split_target(target)
    hook = getattr(module_of(target), ARGUMENTS_HOOK, None)
    maker, maker_name = (fn, target) if hook is None else (hook, f"{module_name}:{ARGUMENTS_HOOK}")
    check_parameters(command, maker, maker_name, params)
    if hook is not None:
        made = hook(name, **params)
        if isinstance(made, tuple):
            return Case(fn, made)
        if not isinstance(made, Case):
            raise JaxmeterError(
                f"{command}: got {made!r:.80} from {maker_name}({name!r}); "
                f"make {ARGUMENTS_HOOK} return a tuple of arguments, such as (x,) for one "
                "argument, or a jaxmeter.Case"
            )
        return made
    try:
        inspect.signature(fn).bind(**params)
    except (TypeError, ValueError):
        got = f"no arguments for {target}"
    else:
        made = fn(**params)
        if isinstance(made, Case):
            return made
        got = f"{type(made).__name__} from {target}, which was called to make a case"
    options = (
        "give --arg f64[64,3] for each argument, --npz, --pickle, or --no-args if the function "
        "takes no arguments; or "
    )
    if command == "lock":
        options = ""  # this command does not have these options
    raise JaxmeterError(
        f"{command}: got {got}; {options}define {ARGUMENTS_HOOK}(name) in {module_name}; or name a "
        "function that returns jaxmeter.Case(fn, args)"
    )
