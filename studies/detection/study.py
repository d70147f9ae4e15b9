"""Measure how often a review finds an injected regression, and how often it gives a false alarm.

    python -m studies detection --exact          # only regressions that exact quantities show
    python -m studies detection --minutes 60     # all regressions; rerun to resume
    python -m studies detection --minutes 0      # print the table of the runs so far

A run measures two copies of a commit, BASE and HEAD, and reviews them. HEAD has a regression of
studies/detection/injected; in an A/A test, HEAD has no change. BASE and HEAD are also compared by
asv's rules. Each regression has several runs, numbered from 0. All runs with the same number are
interleaved and have the same BASE.

The folder OUT/COMMIT has the pages and the records of all runs. With ``--exact``, the folder is
OUT/COMMIT-exact. After each group of runs with the same BASE, the table of all runs so far is
written to detection.md in this folder. ``--keep FILE`` writes a row for each run to FILE.
``--judge-again`` reviews the measured runs again by the current rules.

A single run takes about five minutes, as long as `make review`. Interleaved runs take two to three
minutes each. With ``--exact``, a run is one round of the smallest case that shows the regression.
Then only runs of the same case have the same BASE, and all runs together take an hour.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measuring.checkout import commit_named
from studies.detection import findings
from studies.detection.findings import EQUAL, INJECTED, SMALLEST
from studies.harness import RESULTS, ROOT, Row, StudyError, write_rows

EXACT = [name for name, regression in INJECTED.items() if regression.exact_case is not None]
REVIEW = Path("page", "review.json")
ASV = Path("asv.json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this study to its parser."""
    names = f"regressions to inject; some of {EQUAL} (an A/A test), {', '.join(INJECTED)}"
    add = parser.add_argument
    add("--commit", default="HEAD", help="commit to measure; default HEAD")
    add("--runs", type=int, default=10, help="number of runs of each regression; default 10")
    add("--equal-runs", type=int, default=20, help="number of A/A tests; default 20")
    add("--only", nargs="+", help=names)
    add("--exact", action="store_true", help=f"only {', '.join(EXACT)}; measure no times")
    about = "start no run after this many minutes"
    add("--minutes", type=float, default=math.inf, help=about)
    add("--judge-again", action="store_true", help="also review the measured runs again")
    add("--out", type=Path, default=RESULTS / "detection", help="folder of runs")
    add("--keep", type=Path, metavar="FILE", help="write a row for each run")
    add("--budget", default="270", help="seconds for all runs with the same number")


def run(options: argparse.Namespace) -> int:
    """Measure and review the runs that OUT does not contain yet, and print the table."""
    known = [EQUAL, *(EXACT if options.exact else INJECTED)]
    options.only = options.only or known
    unknown = [name for name in options.only if name not in known]
    if unknown:
        raise StudyError(f"got --only {unknown[0]}; give one or more of {', '.join(known)}")
    commit = commit_named(options.commit)
    # Each commit has a folder for runs with times and another folder for runs without times.
    out = options.out / (commit[:10] + ("-exact" if options.exact else ""))
    started = time.monotonic()
    for names, folder in planned(options, out):
        done = [name for name in names if is_done(folder / name)]
        missing = [name for name in names if name not in done]
        if time.monotonic() - started >= 60 * options.minutes:
            missing = []
        if missing:
            measure(commit, names, folder, options)
        for name in [*missing, *(done if options.judge_again else ())]:
            # For several runs, `benchmarks.measuring.pair` makes a subfolder for each run.
            judge(folder / "pair" / (name if len(names) > 1 else ""), folder / name)
        if missing:
            write_table(commit, options, out)
    print(write_table(commit, options, out), end="")
    return 0


def planned(options: argparse.Namespace, out: Path) -> Iterator[tuple[list[str], Path]]:
    """Yield the regressions and the folder of each group of runs that have the same BASE.

    The folder is named after the regressions of the group. For a group with other regressions,
    BASE is therefore measured again.
    """
    counts = {n: options.equal_runs if n == EQUAL else options.runs for n in options.only}
    cases = {name: exact_case(name) if options.exact else "" for name in counts}
    for number in range(max(counts.values())):
        for case in dict.fromkeys(cases.values()):
            names = [name for name in counts if number < counts[name] and cases[name] == case]
            if names:
                yield names, out / "+".join(names) / str(number)


def exact_case(name: str) -> str:
    """Return the name of the benchmark case that ``--exact`` measures.

    `name` is an injected regression that exact quantities show, or "none" for an A/A test.
    """
    return (INJECTED[name].exact_case if name in INJECTED else None) or SMALLEST


def is_done(folder: Path) -> bool:
    """Return whether a run is measured, reviewed, and compared by asv."""
    return (folder / REVIEW).exists() and (folder / ASV).exists()


def measure(commit: str, names: list[str], folder: Path, options: argparse.Namespace) -> None:
    """Measure a group of runs: BASE, and a HEAD for each of the regressions `names`."""
    command = ["benchmarks.measuring.pair", commit, commit, "--out", str(folder / "pair")]
    command += ["--budget", options.budget, "--no-programs"]
    if options.exact:
        command += ["--rounds", "1", "--cases", exact_case(names[0])]
    command += ["--inject", *names]
    if subprocess.call([sys.executable, "-m", *command], cwd=ROOT) != 0:
        raise StudyError(
            f"the pair in {folder} could not be measured; see the error above, and rerun to resume"
        )


def judge(pair: Path, folder: Path) -> None:
    """Review a run, and write the regressions that asv would report for the run's records."""
    findings.reviewed(pair, folder / "page")
    (folder / ASV).write_text(json.dumps(findings.asv_regressions(pair)) + "\n", encoding="utf-8")


def read_run(name: str, folder: Path, *, exact: bool) -> Row:
    """Return the row of a run from its folder; if `exact`, leave out asv's verdicts on times."""
    asv = json.loads((folder / ASV).read_text(encoding="utf-8"))
    if exact:
        asv = [one for one in asv if not one[1].endswith("_seconds")]
    return findings.run_row(name, json.loads((folder / REVIEW).read_text(encoding="utf-8")), asv)


def write_table(commit: str, options: argparse.Namespace, out: Path) -> str:
    """Write the table of the runs so far, and the rows if ``--keep`` is given; return the table."""
    runs = [
        read_run(name, folder / name, exact=options.exact)
        for names, folder in planned(options, out)
        for name in names
        if is_done(folder / name)
    ]
    runs.sort(key=lambda row: options.only.index(row["injected"]))
    text = f"Runs of commit {commit[:12]}:\n\n{findings.markdown(runs)}"
    out.mkdir(parents=True, exist_ok=True)
    (out / "detection.md").write_text(text, encoding="utf-8")
    if options.keep:
        write_rows(options.keep, [{"commit": commit, **row} for row in runs])
    return text
