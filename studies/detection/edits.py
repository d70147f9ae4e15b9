"""Measure whether a review finds twenty edits of vcjax that each cause a regression.

    python -m studies edits                # all edits of HEAD, then A/A tests; rerun to resume
    python -m studies edits --only copy_of_weights --copies 0      # one edit, no A/A test

Each edit of edits.toml changes a few lines of vcjax, as a commit that looks harmless might do. The
edit is made in a copy of vcjax at the commit ``--commit``. For two operations, a review compares
the exact quantities of the copy and of the commit. The edit causes a regression in one operation,
and does not affect the other operation. The study also makes unedited copies. In each unedited
copy, the operations of all edits are measured. Each pair of unedited copies is an A/A test; the
commit itself counts as an unedited copy. The exit code is 1 if a review misses an edit, or reports
a change in an unaffected operation or in an A/A test.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.measuring.checkout import commit_named
from benchmarks.measuring.pair import sides
from benchmarks.measuring.program_diff import FOLDER
from benchmarks.measuring.rounds import MeasuredSide
from benchmarks.operations.edited import edited_lines
from benchmarks.operations.measure import measure_operations, write_differences
from benchmarks.operations.table import SUITE
from studies.detection.findings import EQUAL, REGRESSION, reported_changes, reviewed, shown
from studies.harness import RESULTS, Row, StudyError, measured, read_rows, table, write_rows

UNTOUCHED = ("apply_dense_operator", "self_test")
"""Two operations; each edit affects at most one of them. To detect false alarms, each edit is also
measured with an unaffected operation: the first, or the second if the edit affects the first.
"""


@dataclass(frozen=True)
class Edit:
    """An edit of a file of vcjax: the text `new` replaces `old`, and `operation` regresses."""

    name: str
    about: str
    operation: str
    file: str
    old: str
    new: str

    @property
    def untouched(self) -> str:
        """An operation on which the edit has no effect."""
        return next(name for name in UNTOUCHED if name != self.operation)

    def edited(self, package: Path) -> str:
        """Return the text of the edit's file after the edit."""
        text = (package / self.file).read_text(encoding="utf-8")
        if (count := text.count(self.old)) != 1:
            raise StudyError(
                f"edit {self.name}: the text to replace must occur once in vcjax/{self.file}, but "
                f"occurs {count} times; update the edit in studies/detection, or give another "
                "--commit"
            )
        return text.replace(self.old, self.new)

    def place(self, package: Path, line: str) -> str:
        """Return "edit" if a line that a review names is an edited line, else "elsewhere".

        `package` is the folder of the unedited package. `line` is a line of the edited package,
        such as ``vcjax/_casing.py:161``.
        """
        file, _, number = line.rpartition(":")
        before = (package / self.file).read_text(encoding="utf-8").partition(self.old)[0]
        first = before.count("\n") + 1
        last = first + self.new.rstrip("\n").count("\n")
        is_edited = file.endswith(self.file) and first <= int(number) <= last
        return "edit" if is_edited else "elsewhere"


def edits_of(file: str) -> dict[str, Edit]:
    """Return the edits in a TOML file of this folder, by name."""
    text = Path(__file__).with_name(file).read_text(encoding="utf-8")
    return {name: Edit(name, **values) for name, values in tomllib.loads(text).items()}


def digest_of(edits: Mapping[str, Edit]) -> str:
    """Return a short digest of edits, so that changed edits are measured again."""
    return hashlib.sha256(repr(edits).encode()).hexdigest()[:8]


EDITS = edits_of("edits.toml")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this study to its parser."""
    add = parser.add_argument
    add("--commit", default="HEAD", help="the commit that is edited; default HEAD")
    about = f"edits to measure; some of {', '.join(EDITS)}"
    add("--only", nargs="+", metavar="EDIT", choices=EDITS, default=[*EDITS], help=about)
    add("--copies", type=int, default=4, help="unedited copies for A/A tests; default 4")
    about = "file for the rows; default: the committed file"
    add("--out", type=Path, default=measured("detection", "edits.csv"), help=about)


def run(options: argparse.Namespace) -> int:
    """Measure and review the copies of vcjax, and write a row for each edit and A/A test.

    Measurements and reviews of an earlier run with the same edits are kept. Return 1 if a review
    misses an edit or raises a false alarm, otherwise 0.
    """
    edits = [EDITS[name] for name in options.only]
    commit = commit_named(options.commit)
    folder = RESULTS / "edits" / commit[:10] / digest_of(EDITS)
    operations = sorted({name for one in edits for name in (one.operation, one.untouched)})
    copies = [*options.only, *(f"{EQUAL}-{number}" for number in range(options.copies))]
    rows, change = [], partial(edit_package, EDITS)
    with sides([commit] * 2, folder, regressions=copies, change=change) as found:
        base, edited, equal = found[0], found[1 : len(edits) + 1], found[len(edits) + 1 :]
        measure_operations(base, operations)
        for one, copy in zip(edits, edited, strict=True):
            measure_operations(copy, (one.operation, one.untouched))
            rows.append(edit_row(one, base.package, compared(copy.pair, base, copy)))
            print(_summary(rows[-1]), flush=True)
        for copy in equal:
            measure_operations(copy, operations)
        for number, pair in enumerate(itertools.combinations([base, *equal], 2)):
            rows.append(equal_row(compared(folder / "equal" / str(number), *pair)))
            print(_summary(rows[-1]), flush=True)
    write_rows(options.out, [{"commit": commit[:10], **row} for row in rows])
    missed = [row for row in rows if row["edit"] != EQUAL and not row["found_by"]]
    return int(bool(missed) or any(row["alarms"] for row in rows))


def edit_package(edits: Mapping[str, Edit], name: str, package: Path) -> None:
    """Apply the edit `name` to the copy of vcjax in `package`, if `edits` has this name."""
    if name in edits:
        edit = edits[name]
        (package / edit.file).write_text(edit.edited(package), encoding="utf-8")


def compared(folder: Path, base: MeasuredSide, head: MeasuredSide) -> Mapping[str, Any]:
    """Review two measured copies, and return the content of review.json.

    `folder` gets the review, and links to the records of both copies. If `folder` contains a review
    already, return the content of this review.
    """
    page = folder / "page"
    if (page / "review.json").exists():
        return json.loads((page / "review.json").read_text(encoding="utf-8"))
    folder.mkdir(parents=True, exist_ok=True)
    for name, side in (("base", base), ("head", head)):
        if not (folder / name).exists():
            (folder / name).symlink_to(side.pair / side.name, target_is_directory=True)
    edits = edited_lines(base.package, head.package)
    write_differences((base, head), folder / FOLDER, edits)
    return reviewed(folder, page)


def edit_row(edit: Edit, package: Path, review: Mapping[str, Any]) -> Row:
    """Return the row of an edit: regressions, the line that the review names, and false alarms."""
    own = f"{SUITE}/{edit.operation}"
    failing = [r for r in review["findings"] if r["verdict"] == REGRESSION and r["is_gated"]]
    found = [one["metric"] for one in failing if one["case"] == own]
    broken = [one for one in review["not_compared"] if one["is_regression"] and one["case"] == own]
    line = re.search(r"\(line (\S+?)\)", review["judgements"]["exact"]["reason"])
    return {
        "edit": edit.name,
        "operations": edit.operation,
        "exit_code": review["exit_code"],
        "found_by": "; ".join([*found, *(one["failure_kind"] for one in broken)]),
        "line": line[1] if line else "",
        "line_in": edit.place(package, line[1]) if line else "",
        "alarms": shown(one for one in reported_changes(review) if one[0] != own),
    }


def equal_row(review: Mapping[str, Any]) -> Row:
    """Return the row of an A/A test; everything that the review reports is a false alarm."""
    return {
        "edit": EQUAL,
        "operations": review["cases_count"],
        "exit_code": review["exit_code"],
        "alarms": shown(reported_changes(review)),
    }


def _summary(row: Row) -> str:
    found = row.get("found_by") or ("equal" if row["edit"] == EQUAL else "not found")
    return f"{row['edit']}: {found}; line in: {row.get('line_in') or '-'}; {row['alarms'] or 'ok'}"


def _table() -> str:
    rows = read_rows(measured("detection", "edits.csv"))
    lines = [
        (
            EDITS[row["edit"]].about,
            row["operations"],
            row["found_by"].replace("; ", ", ") or "**missed**",
            f"{row['line']} ({row['line_in']})" if row["line"] else "none",
            row["alarms"] or "none",
        )
        for row in rows
        if row["edit"] != EQUAL
    ]
    equal = [row for row in rows if row["edit"] == EQUAL]
    alarms = sum(bool(row["alarms"]) for row in equal)
    counts = ", ".join({row["operations"] for row in equal})
    lines += [(f"nothing ({len(equal)} A/A tests)", f"{counts} operations", "–", "–", alarms)]
    return table(("edit", "operation", "found by", "line named", "other findings"), lines, left=5)


TABLES = {"detection edits": _table}
