"""Results as plain data: immutable dataclasses that are written to JSON and read back equal."""

from __future__ import annotations

import json
from typing import ClassVar, Self

from jaxmeter._records.codec import decode, encode
from jaxmeter.errors import RecordError


class Plain:
    """Gives a frozen dataclass ``to_json`` and ``from_json``."""

    derived: ClassVar[tuple[str, ...]] = ()
    """Properties that the JSON tells besides the fields, for those who read it without jaxmeter."""

    def to_json(self, *, indent: int | None = None) -> str:
        """This as JSON text; `from_json` gives back an equal one."""
        data = encode(self, type(self), type(self).__name__.lower())
        data |= {name: getattr(self, name) for name in self.derived}
        return json.dumps(data, allow_nan=False, indent=indent)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Rebuild what `to_json` wrote.

        Raises
        ------
        RecordError
            If the text is nothing of the kind.
        """
        advice = f"give the text of {cls.__name__}.to_json"
        try:
            data = json.loads(text)
            if isinstance(data, dict):  # what is derived follows from the rest
                data = {name: value for name, value in data.items() if name not in cls.derived}
            return decode(data, cls, cls.__name__.lower())
        except RecordError as error:
            raise RecordError(f"{cls.__name__}.from_json: {error}; {advice}") from None
        except ValueError as error:
            raise RecordError(
                f"{cls.__name__}.from_json: got {len(text)} characters that are no JSON "
                f"({error}); {advice}"
            ) from None
