"""Functions named on a command line or in a benchmark: ``package.module:function``."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from typing import Any

from jaxmeter.errors import JaxmeterError

_TARGET = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


def is_target(text: str) -> bool:
    """Return whether a text has the form ``package.module:function``."""
    return _TARGET.fullmatch(text) is not None


def resolve(
    target: str, call: str = "resolve", wanted: str = "JAX can trace"
) -> Callable[..., Any]:
    """Import the module of a target and return the function.

    Parameters
    ----------
    target : str
        ``package.module:function`` or ``package.module:Class.method``.
    call, wanted : str
        The caller's name, and what the function should do, for errors.

    Raises
    ------
    JaxmeterError
        If the target is malformed or the module has no such function.
    Exception
        Whatever importing the module raises.
    """
    if not is_target(target):
        raise JaxmeterError(f"{call}: got target={target!r}; give 'package.module:function'")
    module_name, _, qualified = target.partition(":")
    found: Any = importlib.import_module(module_name)
    for name in qualified.split("."):
        if not hasattr(found, name):
            raise JaxmeterError(
                f"{call}: got target={target!r}, but {module_name} has no {qualified}; "
                "name a function of that module"
            )
        found = getattr(found, name)
    if not callable(found):
        shown = " ".join(repr(found).split())[:80]
        raise JaxmeterError(
            f"{call}: got target={target!r}, which is {shown}; name a function that {wanted}"
        )
    return found
