"""Define immutable plain data that are written to strict JSON and read back without any change.

JSON has no NaN and no infinities. Python's own ``json`` writes these numbers as bare words, which
few other readers accept. This module writes the strings ``"NaN"``, ``"Infinity"`` and
``"-Infinity"``.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import re
import typing
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NoReturn, Self

import msgspec

from jaxmeter.errors import JaxmeterError, RecordError

_NOT_FINITE = ("NaN", "Infinity", "-Infinity")
_KIND_WORDS = {
    "`": "",
    "int": "a whole number",
    "float": "a number",
    "array": "a list",
    "object": "a dictionary",
    "str": "a string",
    "bool": "True or False",
    " | null": " or None",
    " | ": " or ",
}


class FrozenDict(dict):
    """A dictionary that cannot be changed, but can be copied and pickled."""

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(
            f"jaxmeter: got a change to {dict(self)!r:.80}, a dictionary of an immutable object; "
            "make a new object with dataclasses.replace(...)"
        )

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = _refuse
    setdefault = update = _refuse  # pyright: ignore[reportAssignmentType]

    def __hash__(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return hash(frozenset(self.items()))

    def __reduce__(self):
        # By default, unpickling calls __setitem__, which raises an error.
        return (type(self), (dict(self),))


def freeze_mappings(instance: Any) -> None:
    """Replace each mapping in the fields of a dataclass instance by a `FrozenDict` copy."""
    for name, value in list(vars(instance).items()):
        if isinstance(value, Mapping) and not isinstance(value, FrozenDict):
            object.__setattr__(instance, name, FrozenDict(value))


def check_fields(instance: Any) -> None:
    """Check the fields of a dataclass instance against their annotations; freeze dictionaries.

    Call this function in ``__post_init__``. A list becomes a tuple, and a whole number becomes a
    float, if the annotation requires this. See `checked` for limits and errors.
    """
    freeze_mappings(instance)
    cls = type(instance)
    for field in dataclasses.fields(instance):
        value = getattr(instance, field.name)
        converted = checked(cls.__name__, field.name, value, _hints(cls)[field.name])
        if not isinstance(value, Mapping):
            object.__setattr__(instance, field.name, converted)


def checked(call: str, name: str, value: Any, kind: Any) -> Any:
    """Return a value, converted to the type ``kind``, or raise a JaxmeterError.

    ``kind`` can contain limits of the value, given as `msgspec.Meta`. Error messages begin with
    ``call``, which names the function, class or file that got the value. The messages also contain
    ``name`` (the name of the value), the value itself and the expected type.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        wanted, _, place = str(error).removeprefix("Expected ").partition(" - at ")
        wanted = re.sub(", got.*| matching regex.*", "", wanted)
        for kind_name, words in _KIND_WORDS.items():
            wanted = wanted.replace(kind_name, words)
        # In msgspec's messages, "`$[0]`" is a list item, "`$[...]`" is a value of a dictionary, and
        # "`key` in `$`" is a key of a dictionary.
        if place.startswith("`key`"):
            is_name = "matching regex" in str(error)
            wanted = "keys that are Python names" if is_name else f"keys, each {wanted}"
        elif place.startswith("`$["):
            wanted = f"values, each {wanted}"
        raise JaxmeterError(f"{call}: got {name}={value!r}; give {wanted}") from None


@functools.cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls, include_extras=True)


class PlainData:
    """Base class of the frozen dataclasses that are stored as JSON."""

    derived: ClassVar[tuple[str, ...]] = ()
    """The names of properties that are also written to the JSON, for readers without jaxmeter."""
    unreadable_advice: ClassVar[str] = "give the output of {name}.to_json"
    """The advice in the error message if a string cannot be read."""

    def __post_init__(self) -> None:
        freeze_mappings(self)

    def to_json(self, *, indent: int | None = None) -> str:
        """Return a string of strict JSON from which `from_json` makes an equal object.

        An object that contains NaN is not equal to its copy, because NaN is not equal to NaN.

        Raises
        ------
        RecordError
            If the value of a field does not have the declared type.
        """
        cls = type(self)
        try:
            data = _finite(msgspec.to_builtins(self, enc_hook=_numpy_scalar))
            _converted(data, cls)
        except (TypeError, RecordError) as error:
            advice = "give the field a value of its declared type"
            raise RecordError(f"{cls.__name__}.to_json: {error}; {advice}") from None
        data |= {name: getattr(self, name) for name in self.derived}
        return json.dumps(data, allow_nan=False, indent=indent)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Return the object that a string from `to_json` describes.

        An absent field gets its default value, so a string that is older than the field can be
        read.

        Raises
        ------
        RecordError
            If the string is truncated, does not describe an object of this class, or has a field
            that the class does not have.
        """
        advice = cls.unreadable_advice.replace("{name}", cls.__name__)
        try:
            data = json.loads(text, object_pairs_hook=_named_once, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise RecordError(
                f"{cls.__name__}.from_json: got {len(text)} characters that are not valid JSON "
                f"({error}) and may be truncated or from another program; {advice}"
            ) from None
        try:
            cls.check_version(data)
            if isinstance(data, dict):
                data = {name: data[name] for name in data if name not in cls.derived}
            return _converted(data, cls)
        # The last three errors are raised for unpaired surrogates, for numbers too large for a
        # float, and for data that are nested too deeply.
        except (RecordError, UnicodeError, OverflowError, RecursionError) as error:
            raise RecordError(f"{cls.__name__}.from_json: {error}; {advice}") from None

    @classmethod
    def check_version(cls, data: Any) -> None:
        """Raise a RecordError if the data have a version that cannot be read."""


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in made if names.count(name) > 1)
        raise ValueError(f"the name {twice!r:.80} occurs twice in one object")
    return made


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not allowed in strict JSON")


class Result(PlainData):
    """Base class of the results of jaxmeter. A notebook shows each result as tables."""

    def _repr_html_(self) -> str:
        from jaxmeter._render.terminal import html

        return html(self)


def _finite(data: Any) -> Any:
    """Return the data with strings in place of numbers that are not finite."""
    if isinstance(data, float) and not math.isfinite(data):
        return "NaN" if data != data else "Infinity" if data > 0 else "-Infinity"
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    return [_finite(value) for value in data] if isinstance(data, list | tuple) else data


def _numpy_scalar(value: Any) -> Any:
    if getattr(value, "shape", None) != ():
        raise TypeError(f"got {value!r:.80}, which cannot be written as JSON")
    return value.item()


def _converted(data: Any, cls: type) -> Any:
    """Return the data as an object of the class; raise a RecordError if the data do not fit the
    class."""
    try:
        made = msgspec.convert(data, cls)
    except msgspec.ValidationError:
        # A strict conversion does not read "NaN" as a number. A conversion that is not strict reads
        # "NaN", but also strings such as "1.5". Convert strictly unless the data contain one of the
        # strings "NaN", "Infinity" and "-Infinity".
        try:
            made = msgspec.convert(data, cls, strict=not _has_not_finite(data))
        except msgspec.ValidationError as error:
            text = str(error).removeprefix(f"{cls.__name__}: ").replace("$", cls.__name__.lower())
            raise RecordError(text[0].lower() + text[1:]) from None
    unknown = next(_unknown_fields(data, made, cls.__name__.lower()), None)
    if unknown:
        raise RecordError(f"got the unknown field {unknown}")
    return made


def _has_not_finite(data: Any) -> bool:
    if isinstance(data, dict | list):
        return any(map(_has_not_finite, data.values() if isinstance(data, dict) else data))
    return isinstance(data, str) and data in _NOT_FINITE


def _unknown_fields(data: dict[str, Any], made: Any, where: str) -> Iterator[str]:
    """Yield the path of each field that is in the data, but not in the object made from it."""
    if not dataclasses.is_dataclass(made):
        return
    known = vars(made)
    for name, value in data.items():
        path = f"{where}.{name}"
        if name not in known:
            yield path
        elif type(value) is dict:
            yield from _unknown_fields(value, known[name], path)
        elif type(value) is list and value and type(value[0]) is dict:
            for number, item in enumerate(zip(value, known[name], strict=True)):
                yield from _unknown_fields(*item, f"{path}[{number}]")
