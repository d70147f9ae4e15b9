"""``python -m studies.detection.asv_verdict PAIR``: what `asv continuous` calls worse in it.

The records are those of `benchmarks.measuring.pair`, gathered as the suites gather them
for asv, and judged by asv's own functions with its defaults: a factor of 1.1, and for times its
Mann-Whitney test of the process medians. Only what a suite tracks is there, and cases that fail
in HEAD.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measuring.run import SUITES
from benchmarks.summary import Summary, summarise
from jaxmeter import Record, RecordError

FACTOR = 1.1
# Where a suite's name for a quantity is not that of the reports.
NAMES = {"trace_lower_compile_seconds": "build_seconds"}


def main(argv: Sequence[str] | None = None) -> int:
    """Print (case, quantity) of all that is worse, as JSON, or write it; 2 without a pair."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.detection.asv_verdict", description=__doc__
    )
    parser.add_argument("pair", type=Path, help="folder of benchmarks.measuring.pair")
    parser.add_argument("--out", type=Path, help="file to write")
    options = parser.parse_args(argv)
    try:
        base, head = (summaries(options.pair / side) for side in ("base", "head"))
    except (OSError, RecordError) as error:
        print(f"studies.detection.asv_verdict: {error}", file=sys.stderr)
        return 2
    if not base or not head:
        print(f"studies.detection.asv_verdict: {options.pair} is no measured pair", file=sys.stderr)
        return 2
    text = json.dumps(worse(base, head)) + "\n"
    if options.out is None:
        print(text, end="")
    else:
        options.out.write_text(text, encoding="utf-8")
    return 0


def summaries(side: Path) -> dict[str, Summary]:
    """A summary for each case of one side, which holds one commit in one environment."""
    found: dict[str, list[Record]] = {}
    for path in sorted(side.glob("*/*/*/*/*.json")):
        found.setdefault("/".join(path.parts[-3:-1]), []).append(
            Record.from_json(path.read_bytes())
        )
    return {case: summarise(records) for case, records in found.items()}


def worse(base: dict[str, Summary], head: dict[str, Summary]) -> list[tuple[str, str]]:
    """(case, quantity) of all that asv calls worse; of a failed case the name of its error."""
    tracked = {
        suite.suite: {n.removeprefix("track_") for n in dir(suite) if n.startswith("track_")}
        for suite in SUITES
    }
    found = []
    for case in sorted(base.keys() & head.keys()):
        one, other = base[case], head[case]
        if one["status"] != "ok":
            continue
        names = tracked.get(case.split("/")[0], set())
        if other["status"] != "ok" and names:
            # "phase: kind: message", as `summarise` puts it
            found.append((case, other["message"].split(": ")[1]))
            continue
        for name in sorted(names):
            if _is_worse(one, other, name):
                found.append((case, NAMES.get(name, name)))
    return found


def _is_worse(base: Summary, head: Summary, name: str) -> bool:
    from asv._stats import is_different
    from asv_runner.statistics import compute_stats

    if name in base["times"] and name in head["times"]:
        samples = base["times"][name], head["times"][name]
        told, told_too = (compute_stats(one, 1)[1] for one in samples)
        # asv compares single samples by the factor alone.
        if min(map(len, samples)) > 1 and not is_different(*samples, told, told_too):
            return False
        return statistics.median(samples[0]) < statistics.median(samples[1]) / FACTOR
    if name in base["numbers"] and name in head["numbers"]:
        low, high = base["numbers"][name], head["numbers"][name]
        return low < high / FACTOR or (math.isnan(high) and not math.isnan(low))
    return False


if __name__ == "__main__":
    sys.exit(main())
