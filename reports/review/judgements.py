"""Summarise a review in two lines: one on exact quantities and errors, one on times."""

import re
from collections.abc import Sequence

from jaxmeter import MIN_ROUNDS_COUNT

from ..document.section import Judgement, Outcome
from ..stats import is_busy, magnitude
from ..units import counted, listed
from .findings import Finding
from .sections import change_words
from .verdict import Review

MAX_REASONS = 2


def judgements(review: Review) -> tuple[Judgement, Judgement]:
    """Return the line on exact quantities and errors, and the line on times."""
    return _exact(review), _times(review)


def _exact(review: Review) -> Judgement:
    exact = [f for f in review.findings if f.metric.kind != "noisy"]
    if not exact and not review.broken:
        return Judgement("Exact", "not judged", "no case has numbers at both commits")
    worse = [f for f in exact if f.verdict == "regression"]
    better = [f for f in exact if f.verdict == "improvement"]
    reasons = [f"{one.case} is broken ({one.failure_kind})" for one in review.broken]
    reasons += _largest(worse) + _largest(better)
    outcome = _outcome(bool(worse or review.broken), bool(better))
    cases = counted(len({f.case for f in exact}), "case")
    changed = {f.case for f in exact if f.verdict == "changed"}
    if not reasons:
        numbers = "" if review.inconclusive else ", all equal"
        if changed:
            numbers = f", {len(changed)} with a changed program or answer"
        reasons = [f"{cases}{numbers}"]
    place = next(filter(None, (_place(review, f.case) for f in (*worse, *better))), "")
    reasons[0] += place
    if review.inconclusive:
        reasons.append(f"{counted(len(review.inconclusive), 'number')} inconclusive")
    return Judgement("Exact", outcome, _joined(reasons))


def _place(review: Review, case: str) -> str:
    """Return `` (line a.py:3)``: where a case's programs first differ; "" if this is not known."""
    line = review.commits.programs.get(case, "").partition("\n")[0]
    found = re.search(r"(?:edited|new|gone|changed most|called from):? (\S+?:\d+)", line)
    return f" (line {found[1]})" if found else ""


def _times(review: Review) -> Judgement:
    if review.slower or review.faster:
        reasons = _largest(review.slower) + _largest(review.faster)
        outcome = _outcome(bool(review.slower), bool(review.faster))
        return Judgement("Times", outcome, _joined(reasons))
    tested = [f for f in review.tested if not f.pooled]
    if not tested or review.wide_open:
        return Judgement("Times", "not judged", _why_not(review))
    count = len(tested)
    # A change below the minimum effect is not reported, even if it is significant.
    reach = max(review.policy.criteria.minimum_effect, *(f.reach for f in tested))
    of = f" of {count + len(review.untested)}" if review.untested else ""
    text = f"{count}{of} tested; a change above {100 * reach:.0f}% would be found"
    return Judgement("Times", "passes", text)


def _why_not(review: Review) -> str:
    """Return the reason why times have no verdict; include the machine's load if it was high."""
    load = _busy_load(review)
    busy = f"load {load:.1f}; " if load is not None else ""
    if wide := review.wide_open:
        reach = max(f.reach for f in wide)
        names = counted(len(wide), "time")
        return f"{busy}{names} may have changed by up to {100 * reach:.0f}%"
    if not review.untested:
        return "no case was timed"
    if any(f.verdict == "unpaired" for f in review.untested):
        advice = "interleave them with python -m benchmarks.measuring.pair"
        return f"{busy}the rounds of the commits were not interleaved; {advice}"
    rounds = max(f.rounds_count for f in review.untested)
    return f"{busy}at most {counted(rounds, 'round')} per case; {MIN_ROUNDS_COUNT} are needed"


def _busy_load(review: Review) -> float | None:
    """Return the largest load before any timed process; None if this load is normal or unknown.

    A process that is bound to one CPU records only this CPU. Therefore the load is compared with
    the largest number of CPUs that any timed process recorded.
    """
    timed = [
        row
        for commit in (review.commits.base, review.commits.head)
        for case in commit.cases.values()
        for row in case.good.values()
        if row.get("steady_median_seconds") is not None
    ]
    load, cpus = (
        max((row[name] for row in timed if row.get(name) is not None), default=None)
        for name in ("load_1min_before", "cpus_available_count")
    )
    return load if is_busy(load, cpus) else None


def _outcome(is_worse: bool, is_better: bool) -> Outcome:
    if is_worse:
        return "mixed" if is_better else "regression"
    return "improvement" if is_better else "passes"


def _largest(findings: Sequence[Finding]) -> list[str]:
    """Return, for each metric, a phrase on the case in which the metric changed most."""
    found: dict[str, list[Finding]] = {}
    for finding in sorted(findings, key=lambda f: -magnitude(f.ratio)):
        found.setdefault(finding.metric.title, []).append(finding)
    return [
        f"{title} {change_words(group[0])} in {listed((f.case for f in group), 1)}"
        for title, group in found.items()
    ]


def _joined(reasons: Sequence[str]) -> str:
    more = len(reasons) - MAX_REASONS
    return "; ".join([*reasons[:MAX_REASONS], *([f"{more} more"] if more > 0 else [])])
