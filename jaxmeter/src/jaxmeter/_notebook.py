"""Define the cell magic ``%%jaxmeter`` of notebooks, without importing IPython."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import inspect
import os
import pickle
import sys
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jaxmeter
from jaxmeter._measure.case import Case
from jaxmeter._records.lock import SETTINGS
from jaxmeter.errors import JaxmeterError

_CASE = "_jaxmeter_case"


def register(shell: Any) -> None:
    """Add the cell magic ``%%jaxmeter`` to an IPython shell."""
    answers = {"audit": _audit, "measure": _measure, "watch": _watch}

    def jaxmeter_magic(line: str, cell: str) -> Any:
        """Audit, measure or watch a cell: %%jaxmeter audit, %%jaxmeter measure, %%jaxmeter watch.

        audit and measure first run the cell without its last expression. Then they audit or measure
        this expression. If the expression is a call such as step(x), step is audited or measured
        with the argument x. Any other expression is treated as a function without arguments.

        measure works in a fresh process, which imports the modules that the cell uses. Functions,
        classes and values that the cell uses are copied from the notebook, if this is possible.

        watch runs the cell and lists the functions that JAX traced or compiled.
        """
        answer = answers.get(line.strip())
        if answer is None:
            raise JaxmeterError(
                f"%%jaxmeter: got {line.strip()!r}; give one of {', '.join(answers)}"
            )
        return answer(shell, shell.transform_cell(cell))

    shell.register_magic_function(jaxmeter_magic, magic_kind="cell", magic_name="jaxmeter")


def _audit(shell: Any, source: str) -> jaxmeter.Audit:
    body, last = _divided("audit", source)
    _run(shell, source, body)
    code = compile(ast.fix_missing_locations(ast.Expression(last)), _file(shell, source), "eval")
    return jaxmeter.audit(eval(code, shell.user_ns, {_CASE: case_of_call}))


def _measure(shell: Any, source: str) -> jaxmeter.Record:
    body, last = _divided("measure", source)
    with jaxmeter.temporary_folder() as folder:
        text = _MODULE.format(
            case=_CASE, body="\n".join(map(ast.unparse, body)), last=ast.unparse(last)
        )
        file = folder / "jaxmeter_notebook_cell.py"
        write_module(file, ast.parse(source), shell.user_ns, text)
        record = jaxmeter.run_case(
            jaxmeter.BenchmarkCase(
                "cell", f"{file}:{_CASE}_of_cell", path=(str(folder), os.getcwd())
            )
        )
    failure = record.failure
    for name in shell.user_ns:
        if failure is not None and failure.message == f"name {name!r} is not defined":
            message = f"{failure.message} in the process of the cell; define {name} in the cell"
            return dataclasses.replace(
                record, failure=dataclasses.replace(failure, message=message)
            )
    return record


def write_module(file: Path, tree: ast.AST, names: Mapping[str, Any], text: str = "") -> None:
    """Write the module ``file``: the definitions of the names that a cell uses, and then ``text``.

    ``tree`` is the syntax tree of the cell, and ``names`` contains the variables of the notebook.
    The module sets the options of JAX that change programs as in the notebook. A function or class
    of the notebook is written only if its source is a ``def`` or ``class`` statement with the name
    that the cell uses. The module deletes a function if its decorators do not make the wrappers
    that the function has in the notebook. For example, ``fast = jax.jit(step)`` and ``step =
    jax.jit(step)`` are left out. Any other value is left out if it cannot be pickled, or if its
    pickle needs a class or function of the notebook. The module raises a NameError if it uses a
    name that was left out.
    """
    sources: list[str] = []
    values: dict[str, Any] = {}
    known: set[str] = set()

    def collect(tree: ast.AST) -> None:
        for node in ast.walk(tree):
            name = getattr(node, "id", None)
            if name is None or name in known or name not in names:
                continue
            known.add(name)
            found = names[name]
            if isinstance(found, types.ModuleType):
                sources.append(f"import {found.__name__} as {name}")
            elif getattr(found, "__module__", None) == "__main__":
                with contextlib.suppress(OSError, TypeError, SyntaxError):  # no whole source
                    definition = ast.parse(inspect.getsource(found)).body[0]
                    if getattr(definition, "name", None) == name:
                        collect(definition)
                        sources.append(ast.unparse(definition))
                        sources.append(_CHECK.format(name=name, wrappers=wrappers_of(found)))
            else:
                with contextlib.suppress(Exception):  # pickling runs code of the value
                    if b"__main__" not in pickle.dumps(found):
                        values[name] = found

    collect(tree)
    config = getattr(sys.modules.get("jax"), "config", None)
    options = {name: getattr(config, name) for name in SETTINGS if hasattr(config, name)}
    pickled = file.with_suffix(".pickle")
    pickled.write_bytes(pickle.dumps(values))
    file.write_text(
        _VALUES.format(options=options, file=str(pickled), sources="\n".join(sources)) + text
    )


def wrappers_of(value: Any) -> list[str]:
    """Return the names of the wrappers of a function, the outermost first."""
    names = []
    while (wrapped := getattr(value, "__wrapped__", None)) is not None:
        code = getattr(value, "__code__", None)
        names.append(type(value).__name__ if code is None else code.co_qualname)
        value = wrapped
    return names


def _watch(shell: Any, source: str) -> jaxmeter.Watched:
    with jaxmeter.watch() as watched:
        try:
            _run(shell, source, ast.parse(source).body)
        except BaseException:  # also after an interrupt
            shell.displayhook(watched.report)
            raise
    return watched.report


# The options are set before the values are loaded, because some values may be 64-bit arrays.
_VALUES = """
import pickle
import jax as _jax
from jaxmeter._notebook import wrappers_of as _wrappers_of

for _name, _value in {options}.items():
    _jax.config.update(_name, _value)
with open({file!r}, "rb") as stream:
    globals().update(pickle.load(stream))
{sources}
"""
_CHECK = "if _wrappers_of({name}) != {wrappers}: del {name}"
_MODULE = """
from jaxmeter._notebook import case_of_call as {case}

{body}

def {case}_of_cell():
    return {last}
"""


def case_of_call(fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Case:
    """Return a case for the call ``fn(*args, **kwargs)``."""
    return Case(fn, args, kwargs)


def _divided(command: str, source: str) -> tuple[list[ast.stmt], ast.Call]:
    """Return the statements of a cell before its last expression, and a call that makes a case.

    For the expression ``step(x)``, the call makes ``Case(step, (x,))``.
    """
    body = ast.parse(source).body
    end = body[-1] if body else None
    if not isinstance(end, ast.Expr):
        raise JaxmeterError(
            f"%%jaxmeter {command}: got a cell that does not end with an expression; end the "
            "cell with a call such as step(x)"
        )
    last, nothing = end.value, ast.arguments([], [], None, [], [], None, [])
    call = last if isinstance(last, ast.Call) else ast.Call(ast.Lambda(nothing, last), [], [])
    case = ast.Call(ast.Name(_CASE, ast.Load()), [call.func, *call.args], call.keywords)
    return body[:-1], ast.copy_location(case, last)


def _run(shell: Any, source: str, body: list[ast.stmt]) -> None:
    exec(compile(ast.Module(body, []), _file(shell, source), "exec"), shell.user_ns)


def _file(shell: Any, source: str) -> str:
    """Return the file name under which Python finds the source lines of a cell."""
    return shell.compile.cache(source, shell.execution_count)
