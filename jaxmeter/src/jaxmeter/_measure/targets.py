"""Import functions that a command line or a benchmark case names as ``package.module:function`` or
``path/to/file.py:function``."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from jaxmeter.errors import JaxmeterError

TARGET_FORM = "'package.module:function' or 'file.py:function'"
_NAME = r"[^\W\d]\w*(\.[^\W\d]\w*)*"
_TARGET = re.compile(rf"({_NAME}|.*\.py):{_NAME}")


def is_target(text: str) -> bool:
    """Return whether a string has the `TARGET_FORM`."""
    return _TARGET.fullmatch(text) is not None


def split_target(target: str) -> tuple[str, str]:
    """Return the module or file of a target, and the function's name."""
    where, _, name = target.rpartition(":")
    return where, name


def module_of(target: str) -> ModuleType:
    """Return the module of a target: import the module, or run the file as a module that is not
    named ``__main__``. A file that ran without an error is not run again in the same process."""
    where, _ = split_target(target)
    if not where.endswith(".py"):
        return importlib.import_module(where)
    path = Path(where).resolve()
    name = _module_name(path)
    if name in sys.modules:
        return sys.modules[name]
    folder = str(path.parent)
    if folder not in sys.path:  # to import modules beside the file, as python file.py does
        sys.path.append(folder)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None  # .py files have a loader
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _module_name(path: Path) -> str:
    """Return a module name for a file: the file name without ``.py``. If another module has this
    name, also include the folder of the file."""
    name = path.stem
    if name in sys.modules:
        found: Any = sys.modules[name]
        origin = getattr(found, "__file__", None) or "no file"
    else:
        found = importlib.util.find_spec(name) if name.isidentifier() else None
        origin = None if found is None else found.origin
    is_free = origin is None or Path(origin).resolve() == path
    return name if is_free else f"{name} of {path.parent}"


def resolve(
    target: str, call: str = "resolve", wanted: str = "JAX can trace"
) -> Callable[..., Any]:
    """Import the module of a target and return the target's function.

    Parameters
    ----------
    target : str
        ``package.module:function``, ``package.module:Class.method`` or ``file.py:function``.
    call, wanted : str
        For error messages: the name of the caller, and a phrase that completes "name a function
        that ...".

    Raises
    ------
    JaxmeterError
        If the target is malformed or not callable, or if its file or function does not exist.
    Exception
        Any exception that importing the module raises, such as ModuleNotFoundError.
    """
    if not is_target(target):
        raise JaxmeterError(f"{call}: got target={target!r}; give {TARGET_FORM}")
    module_name, qualified = split_target(target)
    file = Path(module_name).resolve()
    if file.suffix == ".py" and not file.is_file():
        raise JaxmeterError(
            f"{call}: got target={target!r}, but there is no file {str(file)!r}; give the path of "
            "an existing file"
        )
    found: Any = module_of(target)
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


def check_parameters(
    call: str, fn: Callable[..., Any], target: str, parameters: Iterable[str]
) -> None:
    """Raise a `JaxmeterError` for a parameter that the function of a target does not take."""
    for name in parameters:
        if not takes(fn, name):
            raise JaxmeterError(
                f"{call}: got the parameter {name} for {target}, which takes {taken(fn)}; give "
                "only parameters that this function takes"
            )


def takes(fn: Callable[..., Any], name: str) -> bool:
    """Return whether a function takes an argument of this name; True if the signature is
    unknown."""
    try:
        parameters = inspect.signature(fn).parameters
    except (TypeError, ValueError):
        return True
    return name in parameters or any(p.kind == p.VAR_KEYWORD for p in parameters.values())


def taken(fn: Callable[..., Any]) -> str:
    """Return the names of the arguments that a function takes, as text."""
    return ", ".join(inspect.signature(fn).parameters) or "no arguments"
