"""Chooses what of two stores may be compared: one setting, one environment folder on each side.

What is left over is never mixed in, and always told.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import pandas as pd

from jaxmeter import Record

from .. import tables
from ..errors import ReportError
from ..frames import Row, groups, rows
from ..load import Store, StoredRecord
from ..machines import UNKNOWN, with_setting
from ..metrics import BUILDING, with_build_seconds
from .sides import CaseSide, LeftOut, Side, Sides

Frames = Mapping[str, pd.DataFrame]  # by setting


def sides_in_one_setting(base: Store, head: Store, setting: str | None) -> Sides:
    """Both sides in the setting that they have in common, or in the one that was asked for.

    Parameters
    ----------
    base, head : Store
        Of one commit each.
    setting : str or None
        The name of a setting, or its beginning.

    Raises
    ------
    ReportError
        If there is no such setting, or there are several.
    """
    stores = (base, head)
    commits = [_commit(store) for store in stores]
    found = _by_setting(stores)
    chosen = _chosen(found, setting)
    frames = [one[chosen] for one in found]
    keys = _folders(frames)
    sides = []
    for frame, key, store, commit in zip(frames, keys, stores, commits, strict=True):
        of_folder = cast(pd.DataFrame, frame.loc[frame["environment_key"] == key])
        sides.append(Side(commit, chosen, dict(_cells(of_folder, store.records))))
    left_out = (*_other_settings(found, chosen), *_other_folders(frames, keys))
    return Sides(sides[0], sides[1], left_out, (*base.skipped, *head.skipped))


def _commit(store: Store) -> str:
    commits = {stored.commit for stored in store.records}
    if len(commits) != 1:
        raise ReportError(f"review: {store.root} holds {len(commits)} commits; one is needed")
    return commits.pop()


def _by_setting(stores: Sequence[Store]) -> list[Frames]:
    """For each side its measurements; of both at once, for one may name the other's setting."""
    builds = _builds_of_all(stores)
    table = tables.frame_of_rows(
        [
            {"side": side, "position": position}
            | tables.measurement_row(stored)
            | _least_build(stored.record, builds.get(stored.case))
            for side, store in enumerate(stores)
            for position, stored in enumerate(store.records)
        ]
    )
    table = with_build_seconds(with_setting(table))
    by_side: list[dict[str, pd.DataFrame]] = [{} for _ in stores]
    for key, found in groups(table, ["side", "setting"]):
        by_side[key["side"]][str(key["setting"])] = found
    return list(by_side)


def _builds_of_all(stores: Sequence[Store]) -> dict[str, int]:
    """For each case how many builds every process made that succeeded."""
    fewest: dict[str, int] = {}
    for stored in itertools.chain(*(store.records for store in stores)):
        if stored.record.status == "ok":
            count = len(stored.record.compiles)
            fewest[stored.case] = min(count, fewest.get(stored.case, count))
    return fewest


def _least_build(record: Record, count: int | None) -> Row:
    """What a review takes for the seconds of building; of all processes from as many builds."""
    least = record.least_compile(count)
    return {name: getattr(least, name) for name in BUILDING}


def _chosen(found: Sequence[Frames], asked: str | None) -> str:
    common = sorted(set(found[0]) & set(found[1]) - {UNKNOWN})
    chosen = [name for name in common if asked is None or name.startswith(asked)]
    if asked in chosen:
        return cast(str, asked)
    if len(chosen) != 1:
        raise ReportError(_no_setting(found, common, asked))
    return chosen[0]


def _no_setting(found: Sequence[Frames], common: list[str], asked: str | None) -> str:
    base, head = ("; ".join(sorted(side)) for side in found)
    if len(common) > 1:
        return (
            f"review: both commits were measured in {len(common)} settings ({'; '.join(common)}), "
            f"{'of which --setting names none or several' if asked else 'choose one: --setting'}"
        )
    if asked and common:
        return f"review: no common setting begins with {asked!r}; there is {common[0]}"
    return (
        "review: numbers of two machines or two JAX versions are never compared; BASE was measured "
        f"in [{base}], HEAD in [{head}]; measure both in one "
        "(python -m benchmarks.measuring.pair BASE HEAD)"
    )


def _folders(frames: Sequence[pd.DataFrame]) -> list[str]:
    """The environment folder of each side: one that both have, else that of most good processes."""
    counts = [_good_counts(frame) for frame in frames]
    shared = sorted(counts[0].keys() & counts[1].keys())
    if shared:
        return [max(shared, key=lambda key: sum(count[key] for count in counts))] * 2
    return [max(sorted(count), key=lambda key: count[key]) for count in counts]


def _good_counts(frame: pd.DataFrame) -> dict[str, int]:
    """For each environment folder, how many of its processes succeeded."""
    return {
        str(key["environment_key"]): sum(row["status"] == "ok" for row in rows(group))
        for key, group in groups(frame, ["environment_key"])
    }


def _other_settings(found: Sequence[Frames], chosen: str) -> Iterable[LeftOut]:
    for name in sorted((set(found[0]) | set(found[1])) - {chosen}):
        there = [side for side, one in zip(("BASE", "HEAD"), found, strict=True) if name in one]
        if name == UNKNOWN:
            yield LeftOut("unknown", f"processes at {' and '.join(there)} that told no machine")
        elif len(there) == 2:
            yield LeftOut(name, "another setting of both commits; see --setting", is_asked=True)
        else:
            yield LeftOut(name, f"another setting, measured at {there[0]} alone")


def _other_folders(frames: Sequence[pd.DataFrame], keys: Sequence[str]) -> Iterable[LeftOut]:
    for side, frame, key in zip(("BASE", "HEAD"), frames, keys, strict=True):
        for other in sorted(set(frame["environment_key"]) - {key}):
            why = f"another environment folder of this setting at {side}; {key} is compared"
            yield LeftOut(str(other), why)


def _cells(table: pd.DataFrame, records: Sequence[StoredRecord]) -> Iterable[tuple[str, CaseSide]]:
    for key, found in groups(table, ["case"]):
        processes = rows(found)
        good = {int(row["round_index"]): row for row in processes if row["status"] == "ok"}
        failed = tuple(row for row in processes if row["status"] != "ok")
        told = {i: records[row["position"]].record for i, row in good.items()}
        first = next(iter(told.values()), records[processes[0]["position"]].record)
        most = max(told.values(), key=lambda r: r.constants.captured_bytes or 0, default=first)
        definition = (first.target, tuple(sorted(first.params.items())))
        arrays = tuple(
            (f"{a.dtype}[{','.join(map(str, a.shape))}]", a.bytes, a.where)
            for a in most.constants.arrays
        )
        checked = {i: frozenset((*record.checks, *record.extras)) for i, record in told.items()}
        yield str(key["case"]), CaseSide(good, failed, definition, arrays, checked)
