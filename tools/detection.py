"""How often does a review find what was planted, and how often does it find what is not there?

    python tools/detection.py [--exact] [--runs 10] [--equal-runs 20] [--only NAME ...]
                              [--minutes M]

Each run measures a commit against itself with a regression of benchmarks/plants put into one side,
or with none, and reviews the pair; what `asv continuous` would say of the same samples stands
beside it. Runs of all regressions take turns. Interrupted, or at its end after M minutes, and
repeated, it goes on; the table of the runs there are is written to OUT/COMMIT/detection.md after
each, and ``--minutes 0`` only prints it. Each run's page and records stay beside it.

A run takes as long as a review, about five minutes. ``--exact`` is much faster: only regressions
that are found by something exact, in a single round of the smallest cell that shows them.
"""

import argparse
import json
import os
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EQUAL = "equal"
TABLE = "detection.md"

# What each plant must be found by: one of these metrics, or a cell broken by one of these errors.
FOUND_BY = {
    "captured_array": ("captured_bytes", "embedded_bytes"),
    "chunk_size": ("temp_bytes", "settled_median_seconds"),
    "float32_slip": ("error_relative", "WrongAnswer"),
    "more_scratch": ("temp_bytes",),
    "retrace": ("RetraceError",),
    "slower_compile": ("build_seconds",),
    "slower_run": ("settled_median_seconds",),
}
SMALLEST = "casing_variants/w7x-argument-d3"
# Of the regressions that something exact shows: where, if not in the smallest cell.
EXACT = {
    "captured_array": SMALLEST,
    "chunk_size": SMALLEST,
    "float32_slip": "casing_variants/w7x-argument-d9",
    "more_scratch": SMALLEST,
    "retrace": SMALLEST,
}

# Cells that plants in the evaluation of the field do not touch: what is found there is a false
# alarm, as everything is between equal commits.
UNTOUCHED = ("casing_preparation/", "memory_sweep/gradient")


class RunFailed(Exception):
    """A run could not be measured or reviewed."""


def main(argv=None):
    """Do the runs that are missing, print the table, and return the exit code."""
    options = arguments(argv)
    commit = named(options.commit)
    # Runs of two commits, or of two ways to run, are two studies.
    out = os.path.join(ROOT, options.out, commit[:10] + ("-exact" if options.exact else ""))
    started = time.monotonic()
    try:
        for name, folder in planned(options, out):
            if not done(folder):
                if time.monotonic() - started >= 60 * options.minutes:
                    break
                measure(commit, name, folder, options)
                written(commit, options, out)
    except RunFailed as error:
        print(f"detection: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("detection: interrupted; repeat the command to go on", file=sys.stderr)
        return 130
    print(written(commit, options, out), end="")
    return 0


def arguments(argv):
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--commit", default="HEAD", help="measured against itself; default HEAD")
    parser.add_argument("--runs", type=int, default=10, help="of each regression; default 10")
    parser.add_argument("--equal-runs", type=int, default=20, help="without one; default 20")
    parser.add_argument("--only", nargs="+", help=f"some of {EQUAL}, {', '.join(FOUND_BY)}")
    parser.add_argument("--exact", action="store_true", help=f"only {', '.join(EXACT)}; no times")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="no run begins after")
    parser.add_argument("--out", default="results/detection", help="folder of all runs")
    parser.add_argument("--budget", default="270", help="seconds a run; default 270")
    options = parser.parse_args(argv)
    known = [EQUAL, *(EXACT if options.exact else FOUND_BY)]
    options.only = options.only or known
    unknown = [name for name in options.only if name not in known]
    if unknown:
        parser.error(f"no regression is called {unknown[0]!r}; there are {', '.join(known)}")
    return options


def planned(options, out):
    """(name, folder) of every run, those of all regressions in turns."""
    counts = {n: options.equal_runs if n == EQUAL else options.runs for n in options.only}
    for k in range(max(counts.values(), default=0)):
        for name, count in counts.items():
            if k < count:
                yield name, os.path.join(out, name, str(k))


def done(folder):
    """Whether a run has been measured and reviewed, and asv's verdict told."""
    return all(os.path.exists(os.path.join(folder, *path)) for path in (REVIEW, BESIDE))


REVIEW, BESIDE = ("page", "review.json"), ("asv.json",)


def measure(commit, name, folder, options):
    """Measure one run, review it, and let asv judge the same samples."""
    pair = os.path.join(folder, "pair")
    command = ["benchmarks.pair", commit, commit, "--out", pair, "--budget", options.budget]
    command += ["--no-programs"]
    if options.exact:
        command += ["--rounds", "1", "--cells", EXACT.get(name, SMALLEST)]
    if run(command + ([] if name == EQUAL else ["--plant", name])) != 0:
        raise RunFailed(f"{folder} could not be measured")
    page = os.path.join(folder, REVIEW[0])
    if run(["reports", "review", "--pair", pair, "--out", page]) not in (0, 1):
        raise RunFailed(f"{folder} could not be reviewed")
    if run(["benchmarks.asv_beside", pair, "--out", os.path.join(folder, *BESIDE)]) != 0:
        raise RunFailed(f"{folder} could not be judged by asv")


def written(commit, options, out):
    """Write the table of the runs there are; its text."""
    folders = {name: [] for name in options.only}
    for name, folder in planned(options, out):
        if done(folder):
            folders[name].append(folder)
    rows = [
        (name, *tally(name, [judged(folder, options) for folder in found]))
        for name, found in folders.items()
        if found
    ]
    text = f"Of commit {commit[:12]}:\n\n{table(rows)}"
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, TABLE), "w", encoding="utf-8") as stream:
        stream.write(text)
    return text


def judged(folder, options):
    """A run's review, and what asv calls worse; of times only where there are processes enough."""
    beside = read(folder, BESIDE)
    if options.exact:
        beside = [one for one in beside if not one[1].endswith("_seconds")]
    return read(folder, REVIEW), beside


def tally(name, runs):
    """Runs, in how many the plant was found, false alarms, what was tested; found and false of asv.

    Parameters
    ----------
    runs : list of (dict, list)
        Each run's review, and what asv calls worse in it, as [cell, metric].
    """
    reviews = [worse(review) for review, _ in runs]
    asv = [[tuple(one) for one in beside] for _, beside in runs]
    return (
        len(runs),
        sum(is_found(name, one) for one in reviews),
        sum(len(false_alarms(name, one)) for one in reviews),
        sum(review["tested_count"] for review, _ in runs),
        sum(is_found(name, one) for one in asv),
        sum(len(false_alarms(name, one)) for one in asv),
    )


def false_alarms(name, found):
    """(cell, metric) of what cannot be there."""
    return [one for one in found if name == EQUAL or one[0].startswith(UNTOUCHED)]


def is_found(name, found):
    """Whether the plant's own metric became worse in a cell that it touches."""
    touched = {metric for cell, metric in found if not cell.startswith(UNTOUCHED)}
    return bool(touched & set(FOUND_BY.get(name, ())))


def worse(review):
    """(cell, metric) of all that became worse; the metric of a broken cell is its error's name."""
    found = [(f["cell"], f["metric"]) for f in review["findings"] if f["verdict"] == "worse"]
    return found + [(e["cell"], e["failure_kind"]) for e in review["not_compared"] if e["is_worse"]]


def table(rows):
    """The study in Markdown."""
    lines = [
        "| Planted | Runs | Found | False alarms | Tested | asv finds | asv's false alarms |",
        "| :-- | --: | --: | --: | --: | --: | --: |",
    ]
    for name, runs, found, false, tested, *asv in rows:
        shown = ("–", "–") if name == EQUAL else (found, asv[0])
        cells = (name.replace("_", " "), runs, shown[0], false, tested, shown[1], asv[1])
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


def read(folder, path):
    """What a run has written."""
    with open(os.path.join(folder, *path), encoding="utf-8") as stream:
        return json.load(stream)


def named(commit):
    """The full name of a commit, so that all runs are of the same one."""
    command = ["git", "rev-parse", "--verify", "--end-of-options", f"{commit}^{{commit}}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"detection: git knows no commit {commit!r}")
    return done.stdout.strip()


def run(arguments):
    """Exit code of a module of this repository."""
    return subprocess.call([sys.executable, "-m", *arguments], cwd=ROOT)


if __name__ == "__main__":
    sys.exit(main())
