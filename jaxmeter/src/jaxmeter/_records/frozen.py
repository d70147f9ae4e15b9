"""A dictionary that cannot be changed, so that frozen dataclasses are frozen all through."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, NoReturn


class FrozenDict(dict):
    """A dictionary that refuses every change; it copies and pickles as dictionaries do."""

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(
            "jaxmeter: got a change to a dictionary of an immutable object; "
            "make a new one with dataclasses.replace(...)"
        )

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = _refuse
    setdefault = update = _refuse  # pyright: ignore[reportAssignmentType]

    def __hash__(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return hash(frozenset(self.items()))

    def __reduce__(self):
        # The default pickles through __setitem__, which refuses.
        return (type(self), (dict(self),))


def freeze_mappings(instance: Any) -> None:
    """Replace each dictionary field of a dataclass instance by a `FrozenDict` copy.

    For use in ``__post_init__``. What is no mapping is left for its own check to refuse.
    """
    for field in dataclasses.fields(instance):
        value = getattr(instance, field.name)
        if isinstance(value, Mapping) and not isinstance(value, FrozenDict):
            object.__setattr__(instance, field.name, FrozenDict(value))
