"""The two sides of a review: what was measured of each commit, in one setting."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..frames import Row
from ..load import SkippedFile


@dataclass(frozen=True)
class CaseSide:
    """All processes of one case at one commit.

    Attributes
    ----------
    good : dict from int to dict
        By round, the measurements of the processes that succeeded, as `tables.measurements`.
    failed : tuple of dict
        The others.
    definition : tuple
        Target and parameters: equal where two commits measured the same thing.
    arrays : tuple of tuple
        Captured arrays of the process that captured most, as (shape and dtype, bytes, where).
    checked : dict from int to frozenset of str
        By round, the names of what the case itself checked or measured in a good process.
    """

    good: dict[int, Row]
    failed: tuple[Row, ...]
    definition: tuple[Any, ...]
    arrays: tuple[tuple[str, int, str], ...]
    checked: Mapping[int, frozenset[str]] = field(default_factory=dict)

    @property
    def broken(self) -> tuple[Row, ...]:
        """The failed processes but those that were skipped on purpose."""
        return tuple(row for row in self.failed if row["status"] != "skipped")


@dataclass(frozen=True)
class Side:
    """One commit, measured in one setting."""

    commit: str
    setting: str
    cases: dict[str, CaseSide]


@dataclass(frozen=True)
class LeftOut:
    """Measurements that no number of the review comes from: another setting or another folder.

    `is_asked` where another setting was asked for by name.
    """

    name: str
    reason: str
    is_asked: bool = False


@dataclass(frozen=True)
class Sides:
    """Both, in the same setting.

    `programs` tells of some cases in what their programs differ, as text.
    """

    base: Side
    head: Side
    left_out: tuple[LeftOut, ...]
    skipped: tuple[SkippedFile, ...]
    programs: Mapping[str, str] = field(default_factory=dict)
