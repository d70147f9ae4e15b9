"""Frozen dataclasses to strict JSON data and back, driven by their annotations.

Python's own ``json`` writes ``NaN`` and ``Infinity`` bare, which few other readers accept. Here a
field declared ``float`` that is not finite becomes one of the strings ``"NaN"``, ``"Infinity"``
and ``"-Infinity"``; all other floats go through ``repr`` and come back bit for bit.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import operator
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, NoReturn

from jaxmeter._records.frozen import FrozenDict
from jaxmeter.errors import RecordError

_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def encode(value: Any, annotation: Any, where: str) -> Any:
    """Turn a value of the declared type into what ``json.dumps(..., allow_nan=False)`` takes.

    Parameters
    ----------
    value : Any
        A dataclass instance, or the value of one of its fields.
    annotation : type
        Its declared type: a dataclass, ``tuple[T, ...]``, ``dict[str, T]``, a scalar, a
        ``Literal``, or a union of scalars or of one of the others with None.
    where : str
        Its name, for errors.

    Raises
    ------
    RecordError
        If the value does not have its declared type.
    """
    members = _members(annotation)
    if value is None and type(None) in members:
        return None
    first = members[0]
    if dataclasses.is_dataclass(first):
        if type(value) is not first:
            _mismatch(where, value, members)
        hints = _hints(first)
        return {k: encode(getattr(value, k), hint, f"{where}.{k}") for k, hint in hints.items()}
    if typing.get_origin(first) is tuple:
        if not isinstance(value, (tuple, list)):
            _mismatch(where, value, members)
        item = typing.get_args(first)[0]
        return [encode(v, item, f"{where}[{i}]") for i, v in enumerate(value)]
    if typing.get_origin(first) is dict:
        if not isinstance(value, Mapping) or not all(isinstance(k, str) for k in value):
            _mismatch(where, value, members)
        item = typing.get_args(first)[1]
        return {k: encode(v, item, f"{where}[{k!r}]") for k, v in value.items()}
    return _encode_scalar(value, members, where)


def decode(data: Any, annotation: Any, where: str) -> Any:
    """Rebuild a value of the declared type from parsed JSON; the inverse of `encode`.

    An absent field takes its default where it has one, so that a field added later leaves older
    records readable; an unknown field is refused.

    Raises
    ------
    RecordError
        If the data does not fit the declared type, naming the field.
    """
    members = _members(annotation)
    if data is None and type(None) in members:
        return None
    first = members[0]
    if dataclasses.is_dataclass(first):
        return _decode_dataclass(data, first, where)
    if typing.get_origin(first) is tuple:
        if not isinstance(data, list):
            _mismatch(where, data, members)
        item = typing.get_args(first)[0]
        return tuple(decode(v, item, f"{where}[{i}]") for i, v in enumerate(data))
    if typing.get_origin(first) is dict:
        if not isinstance(data, dict):
            _mismatch(where, data, members)
        item = typing.get_args(first)[1]
        return FrozenDict({k: decode(v, item, f"{where}[{k!r}]") for k, v in data.items()})
    return _decode_scalar(data, members, where)


def _decode_dataclass(data: Any, cls: Any, where: str) -> Any:
    if not isinstance(data, dict):
        _mismatch(where, data, (cls,))
    hints = _hints(cls)
    unknown = sorted(set(data) - set(hints))
    if unknown:
        raise RecordError(f"got the unknown field {where}.{unknown[0]}")
    missing = [
        field.name
        for field in dataclasses.fields(cls)
        if field.name not in data
        and field.default is dataclasses.MISSING
        and field.default_factory is dataclasses.MISSING
    ]
    if missing:
        raise RecordError(f"got no field {where}.{missing[0]}")
    return cls(**{k: decode(v, hints[k], f"{where}.{k}") for k, v in data.items()})


def _encode_scalar(value: Any, members: tuple[Any, ...], where: str) -> Any:
    if typing.get_origin(members[0]) is Literal:
        if value not in typing.get_args(members[0]):
            _mismatch(where, value, members)
        return value
    if isinstance(value, bool) and bool in members:
        return bool(value)
    if isinstance(value, str) and str in members:
        return str(value)
    if not isinstance(value, (bool, str)):
        # operator.index and float also take numpy's scalars, which json does not.
        if int in members and hasattr(value, "__index__"):
            return operator.index(value)
        if float in members and hasattr(value, "__float__"):
            number = float(value)
            if math.isfinite(number):
                return number
            if str not in members:
                return "NaN" if number != number else ("Infinity" if number > 0 else "-Infinity")
    _mismatch(where, value, members)


def _decode_scalar(data: Any, members: tuple[Any, ...], where: str) -> Any:
    if typing.get_origin(members[0]) is Literal:
        if data in typing.get_args(members[0]):
            return data
        _mismatch(where, data, members)
    if type(data) in members:
        return data
    if float in members and type(data) is int:
        return float(data)
    if float in members and isinstance(data, str) and data in _NOT_FINITE:
        return _NOT_FINITE[data]
    _mismatch(where, data, members)


def _members(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, None last; a type that is no union is its only member."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        members = typing.get_args(annotation)
        return tuple(sorted(members, key=lambda member: member is type(None)))
    return (annotation,)


@functools.cache
def _hints(cls: type) -> dict[str, Any]:
    hints = typing.get_type_hints(cls)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls)}


def _mismatch(where: str, value: Any, members: tuple[Any, ...]) -> NoReturn:
    # The name of a generic says less than its text: Literal, not Literal['ok', 'failed'].
    names = " | ".join(
        m.__name__ if isinstance(m, type) and not typing.get_args(m) else str(m) for m in members
    )
    text = repr(value)
    shown = text if len(text) <= 80 else text[:77] + "..."
    raise RecordError(f"got {shown} for {where}, which is declared {names}")
