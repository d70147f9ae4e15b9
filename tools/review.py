"""Measure two commits in interleaved runs, and review the changes from BASE to HEAD.

    python -m tools.review BASE HEAD [--out FOLDER] [--cases PATTERN ...] [--gate-times]

HEAD is compared with the commit where HEAD branched off from BASE, so that only the commits of a
pull request are reviewed. The records, a page and ``review.md`` are written to FOLDER. Exit codes:
0 if the review passes; 1 if it fails; 2 if the commits could not be measured or compared, or if
--gate-times is given and there is no verdict on times.
"""

import argparse
import contextlib
import sys
from pathlib import Path

from benchmarks.measuring import pair
from benchmarks.measuring.checkout import ROOT, CheckoutError, commit_named, git
from reports import __main__ as reports

CANNOT = 2


def main(argv=None):
    """Measure and review two commits, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.review", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("base", help="a commit or branch")
    parser.add_argument("head", nargs="?", default="HEAD", help="a commit or branch; default HEAD")
    parser.add_argument("--out", type=Path, help="folder; default results/reviews/BASE..HEAD")
    parser.add_argument(
        "--budget",
        default=str(pair.BUDGET_SECONDS),
        help="seconds for the measurement; default %(default)s",
    )
    parser.add_argument("--cases", nargs="+", help="patterns of cases to measure")
    parser.add_argument("--gate-times", action="store_true", help="also fail if a time regresses")
    options = parser.parse_args(argv)
    try:
        base, head = commits(options.base, options.head)
    except CheckoutError as error:
        print(f"tools.review: {error}", file=sys.stderr)
        return CANNOT
    # A folder for each pair of commits, so that records of two pairs never mix.
    out = options.out or ROOT / "results" / "reviews" / f"{base[:10]}..{head[:10]}"
    cases = ["--cases", *options.cases] if options.cases else []
    measured = str(out / "pair")
    if pair.main([base, head, "--out", measured, "--budget", options.budget, *cases]) != 0:
        return CANNOT
    gate = ["--gate-times"] if options.gate_times else []
    return reports.main(["review", "--pair", measured, "--out", str(out / "page"), *gate])


def commits(base, head):
    """Return two full hashes: of the commit where `head` branched off from `base`, and of `head`.

    If `base` and `head` have no common commit, the first hash is the hash of `base`.
    """
    start, end = commit_named(base), commit_named(head)
    with contextlib.suppress(CheckoutError):
        start = git("merge-base", start, end).decode().strip()
    if start == end:
        raise CheckoutError(
            f"got BASE={base} and HEAD={head}, but BASE contains HEAD; "
            "give the older commit first, or an older BASE"
        )
    return start, end


if __name__ == "__main__":
    sys.exit(main())
