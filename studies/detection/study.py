"""How often does a review find what was planted, and how often does it find what is not there?

    python -m studies.detection.study [--exact] [--runs 10] [--equal-runs 20] [--only NAME ...]
                              [--minutes M] [--keep FILE.csv]

A run measures a commit against itself with a regression of studies/detection/injected put into one
side, or with none, and reviews the pair; beside it stands what `asv continuous` would say of the
same samples. The runs of one number are measured in turns and share the unchanged side.
Interrupted, or at
its end after M minutes, and repeated, it goes on; the table of the runs there are is written to
OUT/COMMIT/detection.md after each number, and ``--minutes 0`` only prints it; ``--judge-again``
reviews all pairs once more, by today's rules. Each run's page and records stay beside it;
``--keep`` writes a row for each.

A single run takes as long as a review, about four minutes, one of several together two to three.
``--exact`` is much faster: only regressions that are found by something exact, in a single round of
the smallest case that shows them.
"""

import argparse
import json
import os
import sys
import time

from studies.detection import table as detection_table
from studies.detection.table import EQUAL, PLANTS, SMALLEST
from tools.repository import ROOT, CommitProblem, named, run

EXACT = [name for name, plant in PLANTS.items() if plant.exact_case is not None]
REVIEW, BESIDE = ("page", "review.json"), ("asv.json",)


class RunFailed(Exception):
    """A run could not be measured or reviewed."""


def main(argv=None):
    """Do the runs that are missing, print the table, and return the exit code."""
    options = arguments(argv)
    try:
        commit = named(options.commit)
        # Runs of two commits, or of two ways to run, are two studies.
        out = os.path.join(ROOT, options.out, commit[:10] + ("-exact" if options.exact else ""))
        started = time.monotonic()
        for names, folder in planned(options, out):
            missing = [name for name in names if not done(folder, name)]
            if missing:
                if time.monotonic() - started >= 60 * options.minutes:
                    break
                measure(commit, names, folder, options)
            for name in names if options.judge_again else missing:
                judge(pair_of(folder, names, name), os.path.join(folder, name))
            if missing:
                written(commit, options, out)
    except (CommitProblem, RunFailed) as error:
        print(f"studies.detection.study: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("studies.detection.study: interrupted; repeat the command to go on", file=sys.stderr)
        return 130
    print(written(commit, options, out), end="")
    return 0


def arguments(argv):
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m studies.detection.study", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--commit", default="HEAD", help="measured against itself; default HEAD")
    parser.add_argument("--runs", type=int, default=10, help="of each regression; default 10")
    parser.add_argument("--equal-runs", type=int, default=20, help="without one; default 20")
    parser.add_argument("--only", nargs="+", help=f"some of {EQUAL}, {', '.join(PLANTS)}")
    parser.add_argument("--exact", action="store_true", help=f"only {', '.join(EXACT)}; no times")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="no run begins after")
    parser.add_argument("--judge-again", action="store_true", help="review what is measured again")
    parser.add_argument("--out", default="results/detection", help="folder of all runs")
    parser.add_argument("--keep", metavar="FILE", help="write a row for each run, as CSV")
    parser.add_argument(
        "--budget", default="270", help="seconds of measuring for each number; default 270"
    )
    options = parser.parse_args(argv)
    known = [EQUAL, *(EXACT if options.exact else PLANTS)]
    options.only = options.only or known
    unknown = [name for name in options.only if name not in known]
    if unknown:
        parser.error(f"no regression is called {unknown[0]!r}; there are {', '.join(known)}")
    return options


def planned(options, out):
    """(names, folder) of every number and case: the runs that share the side without a plant.

    The folder tells whose runs: other ones would measure the shared side again.
    """
    counts = {n: options.equal_runs if n == EQUAL else options.runs for n in options.only}
    cases = {name: exact_case(name) if options.exact else "" for name in counts}
    for k in range(max(counts.values(), default=0)):
        for case in dict.fromkeys(cases.values()):
            names = [name for name in counts if k < counts[name] and cases[name] == case]
            if names:
                yield names, os.path.join(out, "+".join(names), str(k))


def exact_case(name):
    """The only case that is measured where nothing but exact metrics counts."""
    return PLANTS[name].exact_case if name in PLANTS else SMALLEST


def done(folder, name):
    """Whether a run has been measured and reviewed, and asv's verdict told."""
    return all(os.path.exists(os.path.join(folder, name, *path)) for path in (REVIEW, BESIDE))


def pair_of(folder, names, name):
    """Where the records of a run lie; of one alone `benchmarks.measuring.pair` makes no folder."""
    return os.path.join(folder, "pair", *([planted(name)] if len(names) > 1 else []))


def planted(name):
    """What `benchmarks.measuring.pair` calls it."""
    return "none" if name == EQUAL else name


def measure(commit, names, folder, options):
    """Measure the runs that share one side."""
    command = ["benchmarks.measuring.pair", commit, commit, "--out", os.path.join(folder, "pair")]
    command += ["--budget", options.budget, "--no-programs"]
    if options.exact:
        command += ["--rounds", "1", "--cases", exact_case(names[0])]
    if run([*command, "--inject", *map(planted, names)]) != 0:
        raise RunFailed(f"{folder} could not be measured")


def judge(pair, folder):
    """Review one run, and let asv judge the same samples."""
    page = os.path.join(folder, REVIEW[0])
    if run(["reports", "review", "--pair", pair, "--out", page]) not in (0, 1):
        raise RunFailed(f"{pair} could not be reviewed")
    if run(["studies.detection.asv_verdict", pair, "--out", os.path.join(folder, *BESIDE)]) != 0:
        raise RunFailed(f"{pair} could not be judged by asv")


def written(commit, options, out):
    """Write the table of the runs there are, and their rows if they are to be kept; its text."""
    rows = [
        detection_table.row(name, read(folder, name, REVIEW), asv(folder, name, options))
        for names, folder in planned(options, out)
        for name in names
        if done(folder, name)
    ]
    rows.sort(key=lambda row: options.only.index(row.planted))
    text = f"Of commit {commit[:12]}:\n\n{detection_table.markdown(rows)}"
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, "detection.md"), "w", encoding="utf-8") as stream:
        stream.write(text)
    if options.keep:
        detection_table.write_csv(options.keep, commit, rows)
    return text


def asv(folder, name, options):
    """What asv calls worse in a run; times only where there are processes enough."""
    told = [tuple(one) for one in read(folder, name, BESIDE)]
    return [one for one in told if not (options.exact and one[1].endswith("_seconds"))]


def read(folder, name, path):
    """What a run has written."""
    with open(os.path.join(folder, name, *path), encoding="utf-8") as stream:
        return json.load(stream)


if __name__ == "__main__":
    sys.exit(main())
