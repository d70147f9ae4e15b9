"""Measure two commits in turns and review what the second changed: for CI, and by hand.

    python -m tools.review BASE HEAD [--out FOLDER] [--cases PATTERN ...] [--gate-times]

BASE is replaced by where HEAD branched off from it, so that a pull request answers for its own
commits only. The records, the page and ``review.md`` lie in FOLDER. Exit codes: 0 nothing gated
became worse, 1 something did, 2 the commits could not be measured or compared.
"""

import argparse
import os
import sys

from tools.repository import ROOT, CommitProblem, branched_off, named, run

CANNOT = 2


def main(argv=None):
    """Run both commands in the interpreter that runs this one; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.review", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("base", help="a commit or branch")
    parser.add_argument("head", nargs="?", default="HEAD", help="default HEAD")
    parser.add_argument("--out", help="folder of everything; default results/reviews/BASE..HEAD")
    parser.add_argument("--budget", default="270", help="seconds of measuring; default 270")
    parser.add_argument("--cases", nargs="+", help="patterns of cases, in place of the usual ones")
    parser.add_argument("--gate-times", action="store_true", help="a longer time fails as well")
    options = parser.parse_args(argv)
    try:
        base, head = commits(options.base, options.head)
    except CommitProblem as error:
        print(f"tools.review: {error}", file=sys.stderr)
        return CANNOT
    # A folder for each pair of commits: the records of two pairs may not meet.
    names = f"{base[:10]}..{head[:10]}"
    out = os.path.abspath(options.out or os.path.join(ROOT, "results", "reviews", names))
    pair = os.path.join(out, "pair")
    measure = ["benchmarks.measuring.pair", base, head, "--out", pair, "--budget", options.budget]
    if options.cases:
        measure += ["--cases", *options.cases]
    if run(measure) != 0:
        return CANNOT
    review = ["reports", "review", "--pair", pair, "--out", os.path.join(out, "page")]
    return run(review + (["--gate-times"] if options.gate_times else []))


def commits(base, head):
    """The full names of where `head` branched off from `base`, and of `head`.

    Raises
    ------
    CommitProblem
        If git knows one of them not, or `head` has nothing that `base` has not: measuring it
        against itself would pass whatever it does.
    """
    start, end = branched_off(base, head), named(head)
    if start == end:
        raise CommitProblem(
            f"got BASE={base} and HEAD={head}, which has no commit of its own: BASE holds it; "
            "give the older one first, or an older BASE"
        )
    return start, end


if __name__ == "__main__":
    sys.exit(main())
