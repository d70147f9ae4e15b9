"""Make a review: the findings and the verdict on the changes from BASE to HEAD."""

from collections.abc import Sequence
from dataclasses import dataclass

from jaxmeter import MIN_ROUNDS_COUNT, Criteria

from ..quantities import KNOWN, Metric, failure_words, metrics_of
from ..units import counted, listed
from .causes import Cause, causes
from .findings import (
    PRIMARY,
    REPORTED,
    Finding,
    Verdict,
    compare_exact_metric,
    compare_times_of,
    is_more_often,
)
from .read import CaseResults, CommitPair

NOTHING, REGRESSION, NO_VERDICT = 0, 1, 2
OUTCOMES = {NOTHING: "Passes", REGRESSION: "Fails", NO_VERDICT: "No verdict on times"}
MAX_NAMES = 3
MAX_REACH = 0.2  # an inconclusive time is not judged if it may have changed by more


@dataclass(frozen=True)
class Policy:
    """The criteria for a significant difference of times, and whether longer times fail a review.

    The reviews of the history use the default criteria. The detection rates in docs/detection.md
    were measured with the default criteria.
    """

    criteria: Criteria = Criteria(minimum_effect=0.05, significance=0.01, trimmed_share=0.125)
    gate_times: bool = False


@dataclass(frozen=True)
class LostCase:
    """A case that cannot be compared, and the reason.

    If HEAD broke the case, `is_regression` is true and `failure_kind` is the name of the error.
    """

    case: str
    reason: str
    is_regression: bool = False
    failure_kind: str = ""


@dataclass(frozen=True)
class Review:
    """The findings of two commits, their causes, and the cases that could not be compared."""

    commits: CommitPair
    policy: Policy
    findings: tuple[Finding, ...]
    lost: tuple[LostCase, ...]
    causes: tuple[Cause, ...]

    def of(self, verdict: Verdict) -> tuple[Finding, ...]:
        """Return the findings with the given verdict."""
        return tuple(f for f in self.findings if f.verdict == verdict)

    @property
    def failing(self) -> tuple[Finding, ...]:
        """The regressions that fail the review (`Finding.is_gated`)."""
        return tuple(f for f in self.of("regression") if f.is_gated)

    @property
    def broken(self) -> tuple[LostCase, ...]:
        """Cases that succeeded at least once at BASE, and failed more often at HEAD than at BASE.

        A single such case is enough for the review to fail.
        """
        return tuple(entry for entry in self.lost if entry.is_regression)

    @property
    def exit_code(self) -> int:
        """The exit code: 1 if the review fails, 2 without a verdict, else 0.

        The review fails if `failing` or `broken` has entries. There is no verdict if nothing was
        compared. With `Policy.gate_times`, there is also no verdict if no time was tested, or if
        an inconclusive time may have changed by more than `MAX_REACH`. One tested time is enough:
        some cases are measured only once, for their exact metrics, so their times are not tested.
        """
        if self.failing or self.broken:
            return REGRESSION
        is_untested = self.policy.gate_times and (not self.tested or bool(self.wide_open))
        return NO_VERDICT if is_untested or not self.compared_count else NOTHING

    @property
    def slower(self) -> tuple[Finding, ...]:
        """Regressions of primary times, whether or not they fail the review."""
        return tuple(f for f in self.of("regression") if f.is_primary)

    @property
    def faster(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.of("improvement") if f.is_primary)

    @property
    def inconclusive(self) -> tuple[Finding, ...]:
        """Inconclusive findings on exact metrics and on errors."""
        return tuple(f for f in self.of("inconclusive") if f.metric.kind != "noisy")

    @property
    def compared_count(self) -> int:
        """Number of cases that were compared."""
        return len({f.case for f in self.findings if not (f.only_at or f.pooled)})

    @property
    def tested(self) -> tuple[Finding, ...]:
        """Primary times that were tested statistically."""
        return tuple(f for f in self.findings if f.is_primary and f.is_tested)

    @property
    def wide_open(self) -> tuple[Finding, ...]:
        """Inconclusive times that may have changed by more than `MAX_REACH`."""
        known = (f for f in self.tested if f.verdict == "inconclusive" and not f.pooled)
        return tuple(f for f in known if f.reach > MAX_REACH)

    @property
    def untested(self) -> tuple[Finding, ...]:
        """Primary times that were not tested: they have no paired rounds, or too few."""
        primary = (f for f in self.findings if f.is_primary and not f.only_at)
        return tuple(f for f in primary if not f.is_tested)

    @property
    def flaky(self) -> dict[str, str]:
        """Compared cases that have failed processes, each with a description of the failures."""
        cases = dict.fromkeys(f.case for f in self.findings if not f.pooled)
        messages = {case: _failures(*self.commits.case(case)) for case in cases}
        return {case: message for case, message in messages.items() if message}

    @property
    def verdict(self) -> str:
        """The review in one sentence, which begins with the exit code in words."""
        if not self.compared_count and self.exit_code == NO_VERDICT:
            return f"No verdict: nothing could be compared{self._gaps}."
        cases = counted(self.compared_count, "case") if self.compared_count else "no case"
        changes = self._changes
        if not (self.broken or self.of("regression") or self.of("improvement")):
            changes.insert(0, "no regression or improvement")
        said = "; ".join([*changes, f"{cases} compared"])
        return f"{OUTCOMES[self.exit_code]}: {said}{self._gaps}."

    @property
    def _changes(self) -> list[str]:
        """The phrases on all changes; cases and numbers that fail the review come first."""
        found: dict[str, list[Finding]] = {}
        for finding in (*self.failing, *(f for verdict in REPORTED for f in self.of(verdict))):
            found.setdefault(_change(finding), []).append(finding)
        broken = [f"{counted(len(self.broken), 'case')} broken"] if self.broken else []
        return broken + [_phrase(text, findings) for text, findings in found.items()]

    @property
    def _gaps(self) -> str:
        """The numbers, cases and files that the verdict leaves out, counted by reason."""
        elsewhere = [entry for entry in self.commits.left_out if not entry.is_asked]
        unpaired = sum(f.verdict == "unpaired" for f in self.untested)
        once = sum(f.verdict != "unpaired" and f.rounds_count == 1 for f in self.untested)
        counts = (
            (once, "time", "with one round, not tested"),
            (
                len(self.untested) - unpaired - once,
                "time",
                f"with fewer than {MIN_ROUNDS_COUNT} paired rounds, not tested",
            ),
            (unpaired, "time", "without paired rounds, not tested"),
            (len(self.inconclusive), "number", "inconclusive"),
            (len(self.lost) - len(self.broken), "case", "not compared"),
            (len(self.flaky), "case", "with failed processes"),
            (len(elsewhere), "environment", "left out"),
            (len(self.commits.skipped), "unreadable file", "skipped"),
        )
        parts = [f"{counted(count, noun)} {text}" for count, noun, text in counts if count]
        return f" ({', '.join(parts)})" if parts else ""


def make_review(commits: CommitPair, policy: Policy | None = None) -> Review:
    """Compare the cases that both commits have, and group the findings by cause."""
    policy = policy or Policy()
    base, head = commits.base.cases, commits.head.cases
    found_lost = {name: _lost(name, base.get(name), head.get(name)) for name in base | head}
    lost = [entry for _, entry in sorted(found_lost.items()) if entry is not None]
    names = sorted(name for name, entry in found_lost.items() if entry is None)
    metrics = [(name, metric) for name in names for metric in _metrics(*commits.case(name))]
    noisy = [(name, metric) for name, metric in metrics if metric.kind == "noisy"]
    compared = (
        compare_exact_metric(name, metric, commits.case(name))
        for name, metric in metrics
        if metric.kind != "noisy"
    )
    findings = [found for found in compared if found is not None]
    for is_primary in (True, False):
        family = [one for one in noisy if (one[1].name in PRIMARY) == is_primary]
        is_gated = policy.gate_times and is_primary
        findings += compare_times_of(family, commits, policy.criteria, is_gated=is_gated)
    with_findings = {finding.case for finding in findings}
    lost += [
        LostCase(name, "its processes measured nothing")
        for name in names
        if name not in with_findings
    ]
    order = {metric.name: index for index, metric in enumerate(KNOWN)}
    findings.sort(key=lambda f: (f.case, order.get(f.metric.name, len(order))))
    return Review(commits, policy, tuple(findings), tuple(lost), causes(commits, findings))


def _metrics(base: CaseResults, head: CaseResults) -> tuple[Metric, ...]:
    rows = (*base.good.values(), *head.good.values())
    numbers = (pair for row in rows for pair in row.items())
    return metrics_of(dict.fromkeys(name for name, x in numbers if x is not None))


def _lost(name: str, base: CaseResults | None, head: CaseResults | None) -> LostCase | None:
    if base is None or head is None:
        commit, other, why = (
            ("HEAD", "BASE", "new") if base is None else ("BASE", "HEAD", "removed")
        )
        failed = _failed(head or base, commit)
        reason = f"not measured at {other} ({why}, or in another benchmark grid)"
        return LostCase(name, f"{reason}{failed and f'; {failed}'}")
    if base.good and is_more_often(_counts(head), _counts(base)):
        return LostCase(name, _failures(base, head), True, str(head.broken[0]["failure_kind"]))
    if not base.good or not head.good:
        bad = [commit for commit, case in (("BASE", base), ("HEAD", head)) if not case.good]
        reason = f"no process succeeded at {' and '.join(bad)}: {_failures(base, head)}"
        return LostCase(name, reason)
    if base.definition != head.definition:
        return LostCase(
            name, "its function or parameters changed, so the numbers cannot be compared"
        )
    return None


def _failures(base: CaseResults, head: CaseResults) -> str:
    """Return `failed at HEAD in 1 of 6 processes: Timeout in setup`, or an empty string."""
    failed = [_failed(case, commit) for commit, case in (("BASE", base), ("HEAD", head))]
    first = next(iter((*head.broken, *base.broken, *head.failed, *base.failed)), None)
    if first is None or not any(failed):
        return ""
    return f"{', '.join(filter(None, failed))}: {failure_words(first)}"


def _failed(case: CaseResults | None, commit: str) -> str:
    """Return `failed at HEAD in 5 of 6 processes`, `skipped at HEAD`, or an empty string."""
    failed, whole = _counts(case) if case else (0, 0)
    if failed:
        return f"failed at {commit} in {failed} of {whole} processes"
    return f"skipped at {commit}" if case and case.failed and not case.good else ""


def _counts(case: CaseResults) -> tuple[int, int]:
    return len(case.broken), len(case.broken) + len(case.good)


def _change(finding: Finding) -> str:
    if finding.only_at:
        return "missing" if finding.verdict == "regression" else f"only at {finding.only_at}"
    if finding.verdict == "regression" and not finding.is_gated:
        return "regressed (not gated)"
    return {"regression": "regressed", "improvement": "improved"}.get(finding.verdict, "changed")


def _phrase(text: str, findings: Sequence[Finding]) -> str:
    """Return a phrase such as `peak RSS, first call and 2 others regressed in 3 cases`."""
    names = listed((f.metric.title for f in findings), MAX_NAMES)
    cases = {case for f in findings for case in f.pooled or (f.case,)}
    return f"{names} {text} in {counted(len(cases), 'case')}"
