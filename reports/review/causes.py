"""Group findings by cause; each cause has its evidence and all findings that it explains.

A finding is explained only by measurements of its own cases. A changed time is explained by
changed counts of traces and compiles, by changed constants, or by a changed program. If none of
these changed, the program does not explain the time.
"""

import functools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..compile_lines import CompileLineChange, line_changes
from ..quantities import COMPILING, Metric
from ..units import bytes_, counted, difference, listed
from .findings import REPORTED, Finding
from .read import CaseResults, CommitPair

CONSTANTS = ("captured_bytes", "embedded_bytes", "hidden_argument_bytes")
COUNTS = ("traces_count", "compiles_count")
PROGRAM = {
    "jaxpr_equations_count": "equations",
    "hlo_instructions_count": "HLO instructions",
    "fusions_count": "fusions",
    "flops": "flops",
    "accessed_bytes": "accessed",
    "temp_bytes": "of temporaries",
    "low_precision_count": "equations of low precision",
}
TITLES = {
    "accuracy": "Accuracy changed",
    "one_sided": "Measured at one commit only",
    "constants": "Captured constants changed",
    "retraces": "The number of traces or compiles changed",
    "program": "The compiled program changed",
    "unexplained": "Not explained by the program",
}
MAX_ARRAYS = 6

Evidence = dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class Cause:
    """A cause and the findings that it explains.

    `kind` is a key of `TITLES`. Each item of `evidence` is one line of text.
    """

    kind: str
    title: str
    evidence: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def is_regression(self) -> bool:
        return any(finding.verdict == "regression" for finding in self.findings)


def causes(commits: CommitPair, findings: Sequence[Finding]) -> tuple[Cause, ...]:
    """Return the causes of all reported findings; causes of regressions come first."""
    by_case: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.verdict in REPORTED:
            by_case.setdefault(finding.case, []).append(finding)

    @functools.cache
    def evidence(case: str) -> Evidence:
        seen = _evidence(commits.case(case), by_case.get(case, ()))
        line = commits.programs.get(case, "").partition("\n")[0]
        if " in " not in line and " called from " not in line:
            return seen
        return {kind: (*lines, line) for kind, lines in ({"accuracy": ()} | seen).items()}

    grouped: dict[tuple[str, tuple[str, ...]], list[Finding]] = {}
    for finding in (finding for found in by_case.values() for finding in found):
        # For pooled cases, take the first case with evidence that explains the time.
        seen = [evidence(case) for case in finding.pooled or (finding.case,)]
        kinds = [_kind(finding, one) for one in seen]
        place = next((i for i, kind in enumerate(kinds) if kind != "unexplained"), 0)
        lines = seen[place].get(kinds[place], ())
        grouped.setdefault((kinds[place], lines), []).append(finding)
    found = []
    for kind, title in TITLES.items():
        here = {lines: members for (of, lines), members in grouped.items() if of == kind}
        if kind != "constants" and len(here) > 1:  # only "constants" may get several sections
            lines = tuple(
                f"{listed((finding.case for finding in members), 1)}: {line}"
                for evidence_lines, members in here.items()
                for line in evidence_lines
            )
            here = {lines: [finding for members in here.values() for finding in members]}
        found += [Cause(kind, title, lines, tuple(members)) for lines, members in here.items()]
    return tuple(sorted(found, key=lambda cause: not cause.is_regression))


def changed_lines(
    commits: CommitPair, findings: Iterable[Finding]
) -> dict[str, tuple[CompileLineChange, ...]]:
    """Return the source lines that explain a changed compile time, by case.

    The result contains a case if three conditions hold: a change of its compile time or program is
    reported, both commits have a compile profile of the case, and `line_changes` returns a line.
    """
    names = (*COMPILING, *PROGRAM)
    changed = (f for f in findings if f.verdict in REPORTED and f.metric.name in names)
    found = {}
    for case in dict.fromkeys(name for f in changed for name in f.pooled or (f.case,)):
        base, head = (side.compile_lines for side in commits.case(case))
        if base and head and (changes := line_changes(base, head)):
            found[case] = changes
    return found


def _kind(finding: Finding, seen: Mapping[str, tuple[str, ...]]) -> str:
    """Return the kind of a finding's cause; `seen` is the case's evidence, by kind of cause."""
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
    # The first kind with evidence is the cause. For compile times, "constants" precedes "program".
    order = ("retraces", "constants", "program")
    if name not in COMPILING:
        order = ("retraces", "program", "constants")
    return next((kind for kind in order if kind in seen), "unexplained")


def _evidence(pair: tuple[CaseResults, CaseResults], findings: Iterable[Finding]) -> Evidence:
    """Return the evidence that a case provides, by kind of cause."""
    seen: Evidence = {}
    by_name = {finding.metric.name: finding for finding in findings if not finding.only_at}
    arrays = _arrays(pair)
    if arrays or any(name in by_name for name in CONSTANTS):
        same = "the same arrays are captured, but they are embedded or passed differently"
        seen["constants"] = arrays or (same,)
    counts = [by_name[name] for name in COUNTS if name in by_name]
    if counts:
        seen["retraces"] = tuple(
            f"{f.metric.title}: {f.base:.0f} became {f.head:.0f} per process" for f in counts
        )
    program = _program(by_name)
    is_same = _is_same_program(pair)
    if program:
        seen["program"] = program
    elif is_same is False:
        seen["program"] = ("the optimised program changed, but none of its compared numbers",)
    else:
        unknown = "the program was not recorded at both commits"
        seen["unexplained"] = ("the optimised program is the same" if is_same else unknown,)
    return seen


def _arrays(pair: tuple[CaseResults, CaseResults]) -> tuple[str, ...]:
    captured = Metric("captured_bytes", "exact")
    if not all(case.values(captured) for case in pair):
        return ()  # not measured; this differs from an empty list of arrays
    base, head = (Counter(case.arrays) for case in pair)
    lines = [
        f"{verb} {name} ({bytes_(size)}){f' in {where}' if where else ''}"
        + (f", {count} times" if count > 1 else "")
        for verb, arrays in (("captures", head - base), ("no longer captures", base - head))
        for (name, size, where), count in sorted(arrays.items(), key=lambda item: -item[0][1])
    ]
    more = len(lines) - MAX_ARRAYS
    rest = [f"and {counted(more, 'array')} more"] if more > 0 else []
    return (*lines[:MAX_ARRAYS], *rest)


def _program(by_name: Mapping[str, Finding]) -> tuple[str, ...]:
    """Return a line with the changed numbers of the program; an empty tuple if none changed."""
    changes = ", ".join(
        f"{difference(one.base, one.head, one.metric.unit)} {words}"
        for name, words in PROGRAM.items()
        if (one := by_name.get(name)) and one.base != one.head
    )
    return (changes,) if changes else ()


def _is_same_program(pair: tuple[CaseResults, CaseResults]) -> bool | None:
    """Return whether the optimised programs have equal fingerprints; None if one has none."""
    base, head = (
        {text for row in case.good.values() if isinstance(text := row.get("hlo_fingerprint"), str)}
        for case in pair
    )
    return bool(base & head) if base and head else None
