"""Records as plain data, checked like jaxmeter's own reader does, ten thousand in seconds.

`Record.from_json` builds objects and words every error; most files are sound and only become rows
of a table. So what plainly fits the record's declaration is taken as it is, and everything else
goes to `Record.from_json`, which alone decides what a record is and says what is wrong.
"""

import dataclasses
import functools
import json
import re
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

from jaxmeter import SCHEMA, Record, RecordError

Fits = Callable[[Any], bool]

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


class CutShort(RecordError):
    """The text is no JSON: what a write that was killed leaves, or garbage."""


def plain_record(text: str | bytes) -> dict[str, Any]:
    """The record as nested dictionaries, equal to ``as_plain(Record.from_json(text))``.

    Raises
    ------
    RecordError
        As `whole_record` does.
    """
    text = _printable(text)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    if isinstance(data, dict) and data.get("schema") == SCHEMA and _fits(Record)(data):
        return data
    return as_plain(whole_record(text))


def whole_record(text: str | bytes) -> Record:
    """The record that `Record.from_json` reads.

    Raises
    ------
    CutShort
        Where the text is no JSON.
    RecordError
        Where it is, but no record: of another schema or another jaxmeter, or beyond all sense.
    """
    text = _printable(text)
    try:
        return Record.from_json(text)
    except RecursionError:
        raise RecordError("nested deeper than any record is") from None
    except OverflowError as error:
        raise RecordError(f"holds a number that is none of a measurement: {error}") from None
    except RecordError as error:
        raise (error if _is_json(text) else CutShort(str(error))) from None


def _is_json(text: str | bytes) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _printable(text: str | bytes) -> str | bytes:
    """The text with a question mark for each half of a pair that no file can be written with."""
    raw = text.encode("utf-8", "replace") if isinstance(text, str) else text
    if not _SURROGATE.search(raw):
        return text
    try:
        return json.dumps(json.loads(text), ensure_ascii=False).encode("utf-8", "replace")
    except (ValueError, RecursionError):
        return text


def as_plain(part: Any) -> Any:
    """A record, or a part of one, as dictionaries and lists."""
    if dataclasses.is_dataclass(part):
        return {f.name: as_plain(getattr(part, f.name)) for f in dataclasses.fields(part)}
    if isinstance(part, Mapping):
        return dict(part)
    if isinstance(part, tuple):
        return [as_plain(item) for item in part]
    return part


@functools.cache
def _fits(annotation: Any) -> Fits:
    """A test that JSON data are of a declared type with nothing to convert, fill in or refuse."""
    is_union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    members = typing.get_args(annotation) if is_union else (annotation,)
    scalars = frozenset(m for m in members if m in (str, int, float, bool, type(None)))
    others = tuple(_fits_one(m) for m in members if m not in scalars)
    if not others:
        return lambda data: type(data) in scalars
    return lambda data: type(data) in scalars or any(fits(data) for fits in others)


def _fits_one(kind: Any) -> Fits:
    origin = typing.get_origin(kind)
    if origin is typing.Literal:
        allowed = frozenset(typing.get_args(kind))
        return lambda data: type(data) is str and data in allowed
    if origin is tuple:
        item = _fits(typing.get_args(kind)[0])
        return lambda data: type(data) is list and all(map(item, data))
    if origin is dict:
        value = _fits(typing.get_args(kind)[1])
        return lambda data: type(data) is dict and all(map(value, data.values()))
    fields = {name: _fits(hint) for name, hint in typing.get_type_hints(kind).items()}

    def fits_dataclass(data: Any) -> bool:
        return (
            type(data) is dict
            and data.keys() == fields.keys()
            and all(fits(data[name]) for name, fits in fields.items())
        )

    return fits_dataclass
