"""Measure two commits in turns and review what the second changed: for CI, and by hand.

    python tools/review.py BASE HEAD [--out FOLDER] [--cells PATTERN ...] [--gate-times]

BASE is replaced by where HEAD branched off from it, so that a pull request answers for its own
commits only. The records, the page and ``review.md`` lie in FOLDER. Exit codes: 0 nothing gated
became worse, 1 something did, 2 the commits could not be measured or compared.
"""

import argparse
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CANNOT = 2


def main(argv=None):
    """Run both commands in the interpreter that runs this one; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base", help="a commit or branch")
    parser.add_argument("head", nargs="?", default="HEAD", help="default HEAD")
    parser.add_argument("--out", help="folder of everything; default results/reviews/BASE..HEAD")
    parser.add_argument("--budget", default="270", help="seconds of measuring; default 270")
    parser.add_argument("--cells", nargs="+", help="patterns of cells, in place of the usual ones")
    parser.add_argument("--gate-times", action="store_true", help="a longer time fails as well")
    options = parser.parse_args(argv)
    base = branched_off(options.base, options.head)
    # A folder for each pair of commits: the records of two pairs may not meet.
    names = f"{named(base)[:10]}..{named(options.head)[:10]}"
    out = os.path.abspath(options.out or os.path.join(ROOT, "results", "reviews", names))
    pair = os.path.join(out, "pair")
    measure = ["benchmarks.pair", base, options.head]
    measure += ["--out", pair, "--budget", options.budget]
    if options.cells:
        measure += ["--cells", *options.cells]
    if run(measure) != 0:
        return CANNOT
    review = ["reports", "review", "--pair", pair, "--out", os.path.join(out, "page")]
    return run(review + (["--gate-times"] if options.gate_times else []))


def branched_off(base, head):
    """The last common commit of both; `base` itself where git knows none."""
    command = ["git", "merge-base", "--", base, head]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else base


def named(commit):
    """The full name of a commit; as it is where git knows none, which measuring then tells."""
    command = [
        "git",
        "rev-parse",
        "--verify",
        "--quiet",
        "--end-of-options",
        f"{commit}^{{commit}}",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else commit


def run(arguments):
    """Exit code of a module of this repository."""
    return subprocess.call([sys.executable, "-m", *arguments], cwd=ROOT)


if __name__ == "__main__":
    sys.exit(main())
