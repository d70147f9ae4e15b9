"""A review: the verdict on what HEAD changed against BASE, before any markup."""

from collections.abc import Sequence
from dataclasses import dataclass

from jaxmeter import Criteria

from ..document.words import counted
from .causes import Cause, causes
from .compare import find, told_failures
from .findings import Finding, Lost, Verdict
from .sides import Sides

NOTHING, REGRESSION, NO_VERDICT = 0, 1, 2
OUTCOMES = {NOTHING: "Passes", REGRESSION: "Fails", NO_VERDICT: "No verdict"}


@dataclass(frozen=True)
class Judging:
    """How strictly: jaxmeter's criteria for times, and whether slower times fail a review.

    The criteria's default is that of every review, from the command line or behind a step of the
    history, and the one that the rates in docs/history.md were measured with.
    """

    criteria: Criteria = Criteria(minimum_effect=0.05, significance=0.01)
    gate_times: bool = False


@dataclass(frozen=True)
class Review:
    sides: Sides
    judging: Judging
    findings: tuple[Finding, ...]
    lost: tuple[Lost, ...]
    causes: tuple[Cause, ...]

    @property
    def failing(self) -> tuple[Finding, ...]:
        """What fails the review: gated metrics that became worse."""
        return tuple(f for f in self._all("worse") if f.is_gated)

    @property
    def broken(self) -> tuple[Lost, ...]:
        """Cases that worked at BASE and do not at HEAD; they fail the review too."""
        return tuple(entry for entry in self.lost if entry.is_worse)

    @property
    def exit_code(self) -> int:
        """1 where something gated became worse, 2 where nothing could be judged, else 0.

        Where times are to decide, one must have been tested; not each, for cases that are measured
        once for what is exact have times as well.
        """
        if self.failing or self.broken:
            return REGRESSION
        is_blind = self.judging.gate_times and not self.tested
        return NO_VERDICT if is_blind or not self.compared_count else NOTHING

    @property
    def outcome(self) -> str:
        """The exit code in a word or two."""
        return OUTCOMES[self.exit_code]

    @property
    def slower(self) -> tuple[Finding, ...]:
        """Primary times that became worse, gated or not."""
        return tuple(f for f in self._all("worse") if f.is_primary)

    @property
    def faster(self) -> tuple[Finding, ...]:
        return tuple(f for f in self._all("better") if f.is_primary)

    @property
    def inconclusive(self) -> tuple[Finding, ...]:
        """Exact metrics and errors in which the processes of one commit disagree."""
        return tuple(f for f in self._all("inconclusive") if f.metric.kind != "noisy")

    def _all(self, verdict: Verdict) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.verdict == verdict)

    @property
    def compared_count(self) -> int:
        """Cases that were compared."""
        return len({f.case for f in self.findings if not (f.only_at or f.joined)})

    @property
    def tested(self) -> tuple[Finding, ...]:
        """Primary times that statistics judged."""
        return tuple(f for f in self.findings if f.is_primary and f.is_tested)

    @property
    def untested(self) -> tuple[Finding, ...]:
        """Primary times that nobody could judge: measured apart, or in too few rounds."""
        primary = (f for f in self.findings if f.is_primary and not f.only_at)
        return tuple(f for f in primary if not f.is_tested)

    @property
    def flaky(self) -> dict[str, str]:
        """Cases that are compared though some of their processes failed, and how."""
        cases = dict.fromkeys(f.case for f in self.findings if not f.joined)
        told = {case: told_failures(self.sides, case) for case in cases}
        return {case: said for case, said in told.items() if said}

    @property
    def verdict(self) -> str:
        """The review in one sentence."""
        count, gaps = self.compared_count, self._gaps
        compared = counted(count, "case") if count else "no case"
        if self.exit_code == NO_VERDICT and not count:
            return f"Nothing could be compared{gaps}."
        changed, judged = "; ".join(self._changes), "; ".join(self._judged)
        if judged:
            of = f"of {compared}" if count else compared
            said = f"{'; '.join(filter(None, (judged, changed)))}; {of} compared"
        else:
            said = f"Nothing became worse or better in {compared}{changed and f'; {changed}'}"
        before = {
            REGRESSION: "Regression: ",
            NO_VERDICT: "No verdict on times, none was tested. ",
        }
        return f"{before.get(self.exit_code, '')}{said}{gaps}."

    @property
    def _judged(self) -> list[str]:
        """What became worse or better, what decides first."""
        said = []
        for how, is_missing in (("worse", False), ("missing", True)):
            failing = [f for f in self.failing if bool(f.only_at) == is_missing]
            names = ", ".join(dict.fromkeys(f.metric.title for f in failing))
            if failing:
                said.append(f"{names} {how} in {counted(len({f.case for f in failing}), 'case')}")
        if self.broken:
            said.append(f"{counted(len(self.broken), 'case')} broken")
        slower = [f for f in self.slower if not f.is_gated]
        if slower:
            said.append(f"{counted(len(slower), 'time')} longer (informs only)")
        if self.faster:
            said.append(f"{counted(len(self.faster), 'time')} shorter")
        better = [f for f in self._all("better") if f.metric.kind != "noisy"]
        if better:
            said.append(f"{counted(len(better), 'exact metric')} better")
        for verdict in ("worse", "better"):
            noisy = [f for f in self._all(verdict) if f.metric.kind == "noisy"]
            beside = [f for f in noisy if not f.is_primary]
            if beside:
                said.append(f"{_named(beside)} {verdict} (informs only)")
        return said

    @property
    def _changes(self) -> list[str]:
        """What is another number, or on one side alone, without being worse or better."""
        changed = [f for f in self._all("changed") if not f.only_at]
        exact = [f for f in changed if f.metric.kind == "exact"]
        errors = [f for f in changed if f.metric.kind == "error"]
        said = [f"{counted(len(exact), 'exact metric')} changed"] if exact else []
        if errors:
            said.append(f"{counted(len(errors), 'error')} changed within rounding")
        for side in ("BASE", "HEAD"):
            alone = [f for f in self._all("changed") if f.only_at == side]
            if alone:
                said.append(f"{_named(alone)} only at {side}")
        return said

    @property
    def _gaps(self) -> str:
        """What the verdict does not speak of: silence about it would read as a pass."""
        lost, files = len(self.lost) - len(self.broken), len(self.sides.skipped)
        elsewhere = [entry for entry in self.sides.left_out if not entry.is_asked]
        apart = sum(f.verdict == "apart" for f in self.untested)
        once = sum(f.verdict != "apart" and f.rounds_count == 1 for f in self.untested)
        few = len(self.untested) - apart - once
        told = {
            f"{counted(once, 'time')} measured once, not tested": once,
            f"{counted(few, 'time')} of too few rounds, not tested": few,
            f"{counted(apart, 'time')} measured apart, not tested": apart,
            f"{counted(len(self.inconclusive), 'exact metric')} inconclusive": len(
                self.inconclusive
            ),
            f"{counted(lost, 'case')} not compared": lost,
            f"failed processes in {counted(len(self.flaky), 'case')}": len(self.flaky),
            f"{counted(len(elsewhere), 'environment')} left out": len(elsewhere),
            f"{counted(files, 'unreadable file')} set aside": files,
        }
        said = ", ".join(text for text, count in told.items() if count)
        return f" ({said})" if said else ""


MOST_NAMES = 3


def _named(findings: Sequence[Finding]) -> str:
    """`peak RSS, first call and 2 others`."""
    names = list(dict.fromkeys(f.metric.title for f in findings))
    more = len(names) - MOST_NAMES
    others = f" and {counted(more, 'other')}" if more > 0 else ""
    return f"{', '.join(names[:MOST_NAMES])}{others}"


def make_review(sides: Sides, judging: Judging | None = None) -> Review:
    """Compare both sides and say what explains what."""
    judging = judging or Judging()
    findings, lost = find(sides, criteria=judging.criteria, gate_times=judging.gate_times)
    return Review(sides, judging, findings, lost, causes(sides, findings))
