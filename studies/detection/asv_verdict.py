"""The regressions that `asv continuous` would report for a measured pair.

The records of `benchmarks.measuring.pair` are gathered as the suites gather them for asv. asv's own
functions judge them with its defaults: a factor of 1.1, and for times its Mann-Whitney test of the
process medians. Only quantities that a suite tracks are judged, and cases that fail in HEAD.
"""

from __future__ import annotations

import math
import statistics
from pathlib import Path

from benchmarks.measuring.run import SUITES
from benchmarks.summary import Summary, summarise
from jaxmeter import Record
from studies.harness import StudyError

FACTOR = 1.1


def of_pair(pair: Path) -> list[tuple[str, str]]:
    """Return the (case, quantity) pairs that got worse from one side to the other."""
    base, head = (summaries(pair / side) for side in ("base", "head"))
    if not base or not head:
        raise StudyError(f"{pair} is no measured pair")
    return worse(base, head)


def summaries(side: Path) -> dict[str, Summary]:
    """Return the summary of each case of one side."""
    found: dict[str, list[Record]] = {}
    for path in sorted(side.glob("*/*/*/*/*.json")):
        case = "/".join(path.parts[-3:-1])
        found.setdefault(case, []).append(Record.from_json(path.read_bytes()))
    return {case: summarise(records) for case, records in found.items()}


def worse(base: dict[str, Summary], head: dict[str, Summary]) -> list[tuple[str, str]]:
    """Return the (case, quantity) pairs that asv calls worse; of failed cases the error's name."""
    tracked = {
        suite.suite: {n.removeprefix("track_") for n in dir(suite) if n.startswith("track_")}
        for suite in SUITES
    }
    found = []
    for case in sorted(base.keys() & head.keys()):
        before, after = base[case], head[case]
        names = tracked.get(case.split("/")[0], set())
        if before["status"] != "ok":
            continue
        if after["status"] != "ok" and names:
            # `summarise` writes "phase: kind: message".
            found.append((case, after["message"].split(": ")[1]))
            continue
        found += [(case, name) for name in sorted(names) if _is_worse(before, after, name)]
    return found


def _is_worse(base: Summary, head: Summary, name: str) -> bool:
    from asv._stats import is_different
    from asv_runner.statistics import compute_stats

    if name in base["times"] and name in head["times"]:
        samples = base["times"][name], head["times"][name]
        before, after = (compute_stats(one, 1)[1] for one in samples)
        # asv compares single samples by the factor alone.
        if min(map(len, samples)) > 1 and not is_different(*samples, before, after):
            return False
        return statistics.median(samples[0]) < statistics.median(samples[1]) / FACTOR
    if name in base["numbers"] and name in head["numbers"]:
        low, high = base["numbers"][name], head["numbers"][name]
        return low < high / FACTOR or (math.isnan(high) and not math.isnan(low))
    return False
