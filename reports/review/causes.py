"""Findings grouped by what explains them: one cause, its evidence, and all it did.

The rules are few and look only at what was measured in the same case. A cause is *said to explain*
a slower time where it is of the kind that could; where nothing in the program changed, that is said
too: then the cause lies outside of it.
"""

import functools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..document.words import counted
from ..metrics import Metric
from ..units import bytes_
from .findings import Finding
from .sides import CaseSide, Sides
from .values import values_of

TOLD: tuple[str, ...] = ("worse", "better", "changed")
BUILD = ("build_seconds", "trace_seconds", "lower_seconds", "compile_seconds")
CONSTANTS = ("captured_bytes", "embedded_bytes", "hidden_argument_bytes")
COUNTS = ("traces_count", "compiles_count")
PROGRAM = {
    "jaxpr_equations_count": "equations",
    "hlo_instructions_count": "HLO instructions",
    "fusions_count": "fusions",
    "flops": "flops",
    "accessed_bytes": "bytes accessed",
    "temp_bytes": "bytes of temporary memory",
}


@dataclass(frozen=True)
class Cause:
    """What explains the findings; `evidence` are sentences, one for each thing seen.

    `kind` is "accuracy", "one_sided", "constants", "retraces", "program" or "unexplained".
    """

    kind: str
    title: str
    evidence: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def is_worse(self) -> bool:
        return any(finding.verdict == "worse" for finding in self.findings)


TITLES = {
    "accuracy": "Accuracy changed",
    "one_sided": "Measured of one commit only",
    "constants": "What the functions close over changed",
    "retraces": "Functions are traced or compiled another number of times",
    "program": "The compiled program changed",
    "unexplained": "Nothing in the program explains it",
}


def causes(sides: Sides, findings: Sequence[Finding]) -> tuple[Cause, ...]:
    """Every told finding under one cause; those that make something worse come first."""
    by_case: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.verdict in TOLD:
            by_case.setdefault(finding.case, []).append(finding)

    @functools.cache
    def evidence(case: str) -> dict[str, tuple[str, ...]]:
        pair = (sides.base.cases[case], sides.head.cases[case])
        return _evidence(pair, by_case.get(case, ()))

    grouped: dict[tuple[str, tuple[str, ...]], list[Finding]] = {}
    for case, told in by_case.items():
        for finding in told:
            # Of several cases judged together, the first in which something explains the time.
            seen_in = [evidence(name) for name in finding.joined or (case,)]
            kinds = [_kind(finding, seen) for seen in seen_in]
            kind, seen = next(
                (pair for pair in zip(kinds, seen_in, strict=True) if pair[0] != "unexplained"),
                (kinds[0], seen_in[0]),
            )
            grouped.setdefault((kind, seen.get(kind, ())), []).append(finding)
    found: list[Cause] = []
    for kind, title in TITLES.items():
        here = {evidence: told for (of, evidence), told in grouped.items() if of == kind}
        if kind != "constants" and len(here) > 1:  # arrays have a section each, others share one
            said = tuple(
                f"{_cells(told)}: {line}" for lines, told in here.items() for line in lines
            )
            here = {said: [finding for told in here.values() for finding in told]}
        found += [Cause(kind, title, evidence, tuple(told)) for evidence, told in here.items()]
    return tuple(sorted(found, key=lambda cause: not cause.is_worse))  # kinds in their order


def _cells(told: Sequence[Finding]) -> str:
    first, *more = dict.fromkeys(finding.case for finding in told)
    return f"{first} and {counted(len(more), 'other')}" if more else first


def _kind(finding: Finding, seen: Mapping[str, tuple[str, ...]]) -> str:
    """The kind of cause a finding belongs to, given what was seen in its case."""
    name = finding.metric.name
    if finding.only_at:
        return "one_sided"
    if finding.metric.kind == "error":
        return "accuracy"
    if name in CONSTANTS:
        return "constants"
    if name in COUNTS:
        return "retraces"
    if finding.metric.kind == "exact":
        return "program"
    # A captured array is compiled in, a second trace is paid at the start: first for those times.
    order = ("retraces", "constants", "program")
    if name not in BUILD:
        order = ("retraces", "program", "constants")
    return next((kind for kind in order if kind in seen), "unexplained")


def _evidence(
    pair: tuple[CaseSide, CaseSide], told: Iterable[Finding]
) -> dict[str, tuple[str, ...]]:
    """For each kind of cause that is present in a case, what was seen of it."""
    seen: dict[str, tuple[str, ...]] = {}
    by_name = {finding.metric.name: finding for finding in told if not finding.only_at}
    arrays = _arrays(pair)
    if arrays or any(name in by_name for name in CONSTANTS):
        same = "the same arrays are captured, but embedded or passed in another number"
        seen["constants"] = arrays or (same,)
    counts = [by_name[name] for name in COUNTS if name in by_name]
    if counts:
        seen["retraces"] = tuple(
            f"{f.metric.title}: {f.base:.0f} became {f.head:.0f} in one process" for f in counts
        )
    program = _program(by_name)
    if program:
        seen["program"] = program
    elif (alike := _same_program(pair)) is False:
        seen["program"] = ("another program of the same size",)
    else:
        said = "the optimised program is the same" if alike else "no record tells of the program"
        seen["unexplained"] = (said,)
    return seen


def _arrays(pair: tuple[CaseSide, CaseSide]) -> tuple[str, ...]:
    if not all(_told_constants(case) for case in pair):
        return ()
    base, head = (Counter(case.arrays) for case in pair)
    said = [
        f"{verb} {name} ({bytes_(size)}){f' in {where}' if where else ''}"
        + (f", {count} times" if count > 1 else "")
        for verb, arrays in (("captures", head - base), ("no longer captures", base - head))
        for (name, size, where), count in sorted(arrays.items(), key=lambda item: -item[0][1])
    ]
    more = len(said) - MOST_ARRAYS
    return tuple(said[:MOST_ARRAYS] + ([f"and {counted(more, 'array')} more"] if more > 0 else []))


MOST_ARRAYS = 6


def _told_constants(case: CaseSide) -> bool:
    """Whether any process told what it captures: silence is not an empty list."""
    return bool(values_of(case, Metric("captured_bytes", "exact")))


def _program(by_name: Mapping[str, Finding]) -> tuple[str, ...]:
    """How the program changed, in numbers; without the bytes, which findings say themselves."""
    said = []
    for name, words in PROGRAM.items():
        finding = by_name.get(name)
        if finding is not None and finding.base != finding.head:
            said.append(f"{finding.head - finding.base:+.4g} {words}")
    return (", ".join(said).replace("-", "−"),) if said else ()


def _same_program(pair: tuple[CaseSide, CaseSide]) -> bool | None:
    """Whether the optimised programs are the same, constants' values aside; None if unknown."""
    base, head = (
        {text for row in case.good.values() if isinstance(text := row.get("hlo_fingerprint"), str)}
        for case in pair
    )
    return bool(base & head) if base and head else None
