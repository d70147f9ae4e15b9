"""Make the `Sheet` that describes an audit or a calibration."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterable
from typing import Any

from jaxmeter._records.audit import Audit, AuditedArray, Calibration, Use
from jaxmeter._render.sheet import Code, Row, Sheet, Table, Text
from jaxmeter._render.units import bytes_text, count_text, place_text, seconds_text, type_text

_ARRAYS_COUNT = 8
_PATH_CHARACTERS = 40
_INDEX = r"(?<=\[)\d+(?=\])"


def audit_sheet(audit: Audit) -> Sheet:
    """Describe the captured arrays, the variables that hold them, and the constant foldings.

    The variables with the most embedded bytes come first. By default, a terminal shows only the
    first variables and foldings. It shows the table of arrays only if the table has at most eight
    rows.
    """
    groups: dict[str, list[AuditedArray]] = {}
    for number, array in enumerate(audit.arrays):
        # Each large array that belongs to no variable gets its own row.
        alone = f"{number}" if array.verdict == "large" else ""
        groups.setdefault(array.argument or alone, []).append(array)
    by_size = sorted(groups.values(), key=lambda arrays: (-_embedded(arrays), -_bytes(arrays)))
    variables = list(map(_variable, by_size))
    if audit.other_bytes > 0:
        place = sum(_embedded(arrays) >= audit.other_bytes for arrays in by_size)
        variables.insert(place, _others(audit))
    arrays = [_array(*family) for family in _families(audit.arrays)]
    if all(
        len(group) == 1 and _short(_holder(group[0])) == _holder(group[0])
        for group in groups.values()
    ):
        arrays = []  # the table of variables already has a row for each array
    foldings = [
        Row(
            "slow",
            folding.operation,
            Code(folding.shape),
            f"{folding.seconds:g} s",
            details=map(_use, folding.uses),
        )
        for folding in audit.foldings
    ]
    limit = _ARRAYS_COUNT if len(arrays) <= _ARRAYS_COUNT else 0
    hidden = f"{len(audit.arrays)} arrays: --all lists them"
    columns = ("type", "bytes:", "in the program")
    tables = (
        Table(
            ("verdict", "variable", *columns), variables, details="lines", limit=5, details_limit=2
        ),
        Table(
            ("verdict", "constant folding", "of", "time, roughly:"),
            foldings,
            details="lines",
            limit=3,
            details_limit=1,
        ),
        Table(("array", *columns), arrays, "the arrays", "lines", limit, 0, hidden),
    )
    return Sheet(_headline(audit), audit.verdict == "fine", tables, suggestions=audit.suggestions)


def _variable(arrays: list[AuditedArray]) -> Row:
    """Return the row of a variable, with the sums over all its arrays."""
    first = arrays[0]
    uses = dict.fromkeys(use for array in arrays for use in array.uses)
    verdict = "large" if any(array.verdict == "large" for array in arrays) else "fine"
    if len(arrays) == 1:
        named = Code(_short(_holder(first))), Code(type_text(first))
        fate = _fate(first)
    else:
        named = Code(first.argument or _holder(first)), f"{len(arrays)} arrays"
        fate = f"{bytes_text(_embedded(arrays))} embedded"
        hidden = sum(array.hidden_count for array in arrays)
        if hidden:
            fate = f"passed as {count_text(hidden, 'hidden argument')}"
    return Row(verdict, *named, f"{_bytes(arrays):,}", fate, details=map(_use, uses))


def _others(audit: Audit) -> Row:
    """Return the row of the embedded constants that belong to no captured array."""
    count = audit.embedded_count - sum(array.embedded_count for array in audit.arrays)
    verdict = "large" if audit.other_bytes > audit.threshold_bytes else "fine"
    fate = f"{bytes_text(audit.other_bytes)} embedded"
    return Row(
        verdict, "not captured", count_text(count, "constant"), f"{audit.other_bytes:,}", fate
    )


def _families(arrays: Iterable[AuditedArray]) -> list[tuple[str, list[AuditedArray]]]:
    """Group arrays of the same type and use if their paths differ in only one index, and the
    values of this index are consecutive.

    Return each group with its path, such as ``W[0..59]``. Every other array is a group of its own.
    """
    alike: dict[Any, list[AuditedArray]] = {}
    for array in arrays:
        kind = type_text(array), array.match, _fate(array), array.uses
        alike.setdefault((re.sub(_INDEX, "", array.path), kind), []).append(array)
    found = []
    for family in alike.values():
        rows = zip(*([int(n) for n in re.findall(_INDEX, one.path)] for one in family), strict=True)
        columns = [sorted(set(column)) for column in rows]
        varying = [column for column in columns if len(column) > 1]
        if len(varying) == 1 and varying[0] == [*range(varying[0][0], varying[0][-1] + 1)]:
            between = re.split(_INDEX, family[0].path)
            texts = (f"{c[0]}..{c[-1]}" if len(c) > 1 else f"{c[0]}" for c in columns)
            pairs = itertools.zip_longest(between, texts, fillvalue="")
            found.append(("".join(itertools.chain(*pairs)), family))
        else:
            found += [(array.path, [array]) for array in family]
    return found


def _array(path: str, family: list[AuditedArray]) -> Row:
    """Return the row of an array, or of a group of similar arrays."""
    first, count = family[0], len(family)
    kind = type_text(first) if count == 1 else f"{count} x {type_text(first)}"
    fate = _fate(first) if count == 1 else f"each {_fate(first)}"
    path = _holder(dataclasses.replace(first, path=path))
    return Row(Code(path), Code(kind), f"{_bytes(family):,}", fate, details=map(_use, first.uses))


def _bytes(arrays: list[AuditedArray]) -> int:
    return sum(array.bytes for array in arrays)


def _embedded(arrays: list[AuditedArray]) -> int:
    return sum(array.embedded_bytes for array in arrays)


def _short(path: str) -> str:
    """Return a path; leave out the middle of a long path: ``self...blocks[3].weight``."""
    if len(path) <= _PATH_CHARACTERS:
        return path
    ends = [match.start() for match in re.finditer(r"[.\[]", path)]
    head = path[: next((at for at in ends if at), len(path))][: _PATH_CHARACTERS // 2]
    room = _PATH_CHARACTERS - len(head) - 3
    tail = next((path[at:] for at in ends if len(path) - at <= room), path[-room:])
    return f"{head}...{tail.removeprefix('.')}"


def calibration_sheet(made: Calibration) -> Sheet:
    """Describe the compile time that an embedded megabyte costs, and the range of this time over
    the rounds."""
    samples = made.samples_seconds_per_megabyte
    low, high = (seconds_text(of(samples), 2) if samples else "" for of in (min, max))
    spread = f", {low} to {high} in {len(samples)} rounds," if samples else ""
    return Sheet(
        f"compiling takes {seconds_text(made.seconds_per_megabyte, 2)}{spread} for each megabyte "
        f"that is embedded (JAX {made.jax}, {made.device_kind}, {made.cpu_model}, "
        f"{made.measured_utc})"
    )


def _headline(audit: Audit) -> str:
    if not audit.arrays and not audit.embedded_bytes:
        return f"{audit.name}: captures no array"
    captured = "no array"
    if audit.arrays:
        count = count_text(len(audit.arrays), "array")
        captured = f"{bytes_text(audit.captured_bytes)} in {count}"
    cost = ""
    if audit.embedding_seconds is not None and audit.embedded_bytes:
        cost = f", about {seconds_text(audit.embedding_seconds, 2)} of every compile"
    return (
        f"{audit.name}: captures {captured}, embeds {bytes_text(audit.embedded_bytes)} "
        f"in {count_text(audit.embedded_count, 'constant')}{cost} ({audit.verdict}; the threshold "
        f"is {bytes_text(audit.threshold_bytes)} for a variable)"
    )


def _holder(array: AuditedArray) -> str:
    prefix = {"same": "", "view": "a view of ", "equal": "equal to "}.get(array.match)
    return "made while tracing, or held elsewhere" if prefix is None else prefix + array.path


def _fate(array: AuditedArray) -> str:
    if array.hidden_count:
        return "passed as " + count_text(array.hidden_count, "hidden argument")
    count = array.embedded_count
    if count:
        size = f", as {bytes_text(array.embedded_bytes)}" if array.repeats_count > 1 else ""
        return "embedded " + {1: "once", 2: "twice"}.get(count, f"{count} times") + size
    return "not embedded: unused, or embedded as fewer elements"


def _use(use: Use) -> Text:
    through = f" (through {place_text(use.within)})" if use.within else ""
    text = f"{use.how} in {use.function}{through}"
    place = Code(place_text(f"{use.file}:{use.line}"))
    return (place, f"{text}:", Code(use.text)) if use.text else (place, text)
