"""Measure whether reviews find three edits of vcjax that each make an operation a tenth slower.

    python -m studies timed --runs 10             # on a quiet machine; rerun to resume
    python -m studies timed --runs 10 --busy 1    # while another process keeps a core busy
    python -m studies timed --judge-again         # review the measured quiet runs of HEAD again

Each edit of timed.toml changes a few characters in a copy of vcjax at the commit ``--commit``. A
run measures the commit, the three edited copies and two unedited copies, interleaved. Then a review
compares each copy with the commit by the rules of `make review`. In an edited copy only the edited
operation is timed, because the edit does not change the other two operations. In an unedited copy
all three operations are timed. timed.csv has a row for each copy of each run.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.measuring.changed import take_rounds, timed_sides
from benchmarks.measuring.checkout import commit_named, run_lock
from benchmarks.measuring.pair import MOST_ROUNDS, sides
from benchmarks.operations.table import SUITE
from studies.detection.edits import digest_of, edit_package, edits_of
from studies.detection.findings import EQUAL, REGRESSION, reported_changes, reviewed, shown
from studies.harness import RESULTS, Row, measured, read_rows, table, write_rows

EDITS = edits_of("timed.toml")
COPIES = (f"{EQUAL}-1", f"{EQUAL}-2")
OPERATIONS = tuple(one.operation for one in EDITS.values())
TIME = "steady_median_seconds"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this study to its parser."""
    add = parser.add_argument
    add("--commit", default="HEAD", help="the commit that is edited; default HEAD")
    add("--runs", type=int, default=10, help="number of runs, each of all copies; default 10")
    add("--busy", type=int, default=0, help="cores that are kept busy; default 0")
    add("--budget", type=float, default=225.0, help="seconds for each run")
    add("--judge-again", action="store_true", help="only review measured runs again")
    about = "file for the rows; default: the committed file"
    add("--out", type=Path, default=measured("detection", "timed.csv"), help=about)


def run(options: argparse.Namespace) -> int:
    """Measure and review the runs that have no rows in OUT; write a row for each copy of vcjax.

    Then print how often each edit was found in all runs. With ``--judge-again``, measure nothing,
    and only review the measured runs again.
    """
    commit = commit_named(options.commit)
    machine = f"{options.busy} busy" if options.busy else "quiet"
    fixed = {"commit": commit[:10], "edits": digest_of(EDITS), "machine": machine}
    rows = read_rows(options.out)
    for number in range(options.runs):
        about = {**fixed, "run": str(number)}
        own = [row for row in rows if about.items() <= row.items()]
        folder = RESULTS.joinpath("timed", *(value.replace(" ", "-") for value in about.values()))
        if options.judge_again != bool(own):  # only measured runs are judged again
            continue
        if not own:
            with busy(options.busy):
                measure(commit, folder, options.budget)
        rows = [row for row in rows if row not in own]
        for name in (*EDITS, *COPIES):
            rows.append({**about, **row_of(name, reviewed(folder / name, folder / name / "page"))})
            print(f"run {number}, {name}: {rows[-1]['times']}", flush=True)
        write_rows(options.out, rows)
    print(markdown(rows), end="")
    return 0


def measure(commit: str, folder: Path, seconds: float) -> None:
    """Measure the times of the commit, the edited copies and the unedited copies.

    A rerun keeps finished rounds.
    """
    copies = (*EDITS, *COPIES)
    change = partial(edit_package, EDITS)
    with run_lock(), sides([commit] * 2, folder, regressions=copies, change=change) as found:
        names = [(EDITS[name].operation,) if name in EDITS else OPERATIONS for name in copies]
        take_rounds(timed_sides(found, names), rounds=MOST_ROUNDS, seconds=seconds)


@contextlib.contextmanager
def busy(count: int) -> Iterator[None]:
    """Keep `count` cores busy within a ``with`` block."""
    command = [sys.executable, "-c", "while True: pass"]
    workers = [subprocess.Popen(command) for _ in range(count)]
    try:
        yield
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()


def row_of(name: str, review: Mapping[str, Any]) -> Row:
    """Return the row of a copy of vcjax: regression found, false alarms, and verdict on times."""
    edit, own, alarms = EDITS.get(name), {}, reported_changes(review)
    if edit is not None:
        slower = {"case": f"{SUITE}/{edit.operation}", "metric": TIME, "verdict": REGRESSION}
        own = next((one for one in review["findings"] if slower.items() <= one.items()), {})
        # Besides the steady-state time, an edit may change its operation's other times, and times
        # pooled over cases. These changes are not false alarms.
        others = {f"{SUITE}/{name}" for name in OPERATIONS if name != edit.operation}
        alarms = [one for one in alarms if one[0] in others]
    judged = review["judgements"]["times"]
    numbers = {name: f"{own[name]:.4f}" if own else "" for name in ("low", "high")}
    return {
        "edit": EQUAL if edit is None else name,
        "copy": name,
        "environment": review["environment"],
        "found": f"{own['head'] / own['base']:.4f}" if own else "",
        **numbers,
        "rounds": own.get("rounds_count", ""),
        "alarms": shown(alarms),
        "times": f"{judged['outcome']}: {judged['reason']}",
    }


def markdown(rows: Sequence[Row]) -> str:
    """Return a table of how often each edit was found, and how many runs had false alarms."""
    lines = []
    for key in dict.fromkeys((row["machine"], row["edit"]) for row in rows):
        some = [row for row in rows if (row["machine"], row["edit"]) == key]
        machine, edit = key[0], EDITS.get(key[1])
        lines.append(
            (
                edit.about if edit else "nothing (equal copies)",
                edit.operation if edit else "–",
                machine.replace("busy", "busy core"),
                len(some),
                sum(row["found"] != "" for row in some) if edit else "–",
                sum(row["alarms"] != "" for row in some),
                sum(row["times"].startswith("not judged") for row in some),
            )
        )
    header = ("edit", "operation", "machine", "runs", "found", "false alarms", "not judged")
    return table(header, lines, left=3)


def _table() -> str:
    return markdown(read_rows(measured("detection", "timed.csv")))


TABLES = {"detection timed": _table}
