"""How often does a review find what was planted, and how often does it find what is not there?

    python tools/detection.py [--commit HEAD] [--runs 10] [--equal-runs 20] [--only NAME ...]

Each run measures a commit against itself with a regression of benchmarks/plants put into one side,
or with none, and reviews the pair. Interrupted and repeated, it goes on. The table is printed and
written to FOLDER/detection.md; each run's page and records stay beside it. A run takes as long as
a review, about five minutes: all of it is a matter of hours.
"""

import argparse
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EQUAL = "equal"

# What each plant must be found by: one of these metrics, or a broken cell where it is "broken".
FOUND_BY = {
    "captured_array": ("captured_bytes", "embedded_bytes"),
    "chunk_size": ("temp_bytes", "settled_median_seconds"),
    "float32_slip": ("error_relative", "broken"),
    "more_scratch": ("temp_bytes",),
    "slower_compile": ("build_seconds",),
    "slower_run": ("settled_median_seconds",),
}

# Cells that plants in the evaluation of the field do not touch: what is found there is a false
# alarm, as everything is between equal commits.
UNTOUCHED = ("casing_preparation/", "memory_sweep/gradient")


class RunFailed(Exception):
    """A run could not be measured or reviewed."""


def main(argv=None):
    """Do all runs that are missing, print the table, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--commit", default="HEAD", help="measured against itself; default HEAD")
    parser.add_argument("--runs", type=int, default=10, help="of each regression; default 10")
    parser.add_argument("--equal-runs", type=int, default=20, help="without one; default 20")
    parser.add_argument("--only", nargs="+", help=f"some of {EQUAL}, {', '.join(FOUND_BY)}")
    parser.add_argument("--out", default="results/detection", help="folder of all runs")
    parser.add_argument("--budget", default="270", help="seconds a run; default 270")
    options = parser.parse_args(argv)
    wanted = options.only or [EQUAL, *FOUND_BY]
    unknown = [name for name in wanted if name != EQUAL and name not in FOUND_BY]
    if unknown:
        parser.error(f"no regression is called {unknown[0]!r}")
    commit = named(options.commit)
    out = os.path.join(ROOT, options.out)
    rows = []
    try:
        for name in wanted:
            count = options.equal_runs if name == EQUAL else options.runs
            folders = [os.path.join(out, name, str(k)) for k in range(count)]
            reviews = [reviewed(commit, name, folder, options.budget) for folder in folders]
            rows.append((name, *tally(name, reviews)))
    except RunFailed as error:
        print(f"detection: {error}", file=sys.stderr)
        return 2
    text = table(rows)
    with open(os.path.join(out, "detection.md"), "w", encoding="utf-8") as stream:
        stream.write(f"Of commit {commit[:12]}:\n\n{text}")
    print(text, end="")
    return 0


def tally(name, reviews):
    """Runs, in how many the plant was found, false alarms in all, what was tested in all."""
    found = sum(is_found(name, review) for review in reviews)
    false = sum(len(false_alarms(name, review)) for review in reviews)
    return len(reviews), found, false, sum(review["tested_count"] for review in reviews)


def false_alarms(name, review):
    """(cell, metric) of what cannot be there."""
    every = worse(review)
    return [one for one in every if name == EQUAL or one[0].startswith(UNTOUCHED)]


def is_found(name, review):
    """Whether the plant's own metric became worse in a cell that it touches."""
    touched = {metric for cell, metric in worse(review) if not cell.startswith(UNTOUCHED)}
    return bool(touched & set(FOUND_BY.get(name, ())))


def worse(review):
    """(cell, metric) of all that became worse; the metric of a broken cell is "broken"."""
    found = [(f["cell"], f["metric"]) for f in review["findings"] if f["verdict"] == "worse"]
    return found + [(e["cell"], "broken") for e in review["not_compared"] if e["is_worse"]]


def table(rows):
    """The study in Markdown."""
    lines = [
        "| Planted | Runs | Found | False alarms | Tested |",
        "| :-- | --: | --: | --: | --: |",
    ]
    for name, runs, found, false, tested in rows:
        shown = "–" if name == EQUAL else str(found)
        lines.append(f"| {name.replace('_', ' ')} | {runs} | {shown} | {false} | {tested} |")
    return "\n".join(lines) + "\n"


def reviewed(commit, name, folder, budget):
    """The review of one run as data; measured where it is missing."""
    path = os.path.join(folder, "page", "review.json")
    if not os.path.exists(path):
        pair = os.path.join(folder, "pair")
        measure = ["benchmarks.pair", commit, commit, "--out", pair, "--budget", budget]
        if run(measure + ([] if name == EQUAL else ["--plant", name])) != 0:
            raise RunFailed(f"{folder} could not be measured")
        page = os.path.dirname(path)
        if run(["reports", "review", "--pair", pair, "--out", page]) not in (0, 1):
            raise RunFailed(f"{folder} could not be reviewed")
    with open(path, encoding="utf-8") as stream:
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
