"""Measure a fleet: a million records in Parquet files, queries of the records, and a history page.

    python -m studies fleet results/records            # takes fifteen minutes on one core

The records are generated from the records of a store, with other commits, machines and days, and
with noise on the times. ``python -m reports compact`` compacts the stores of eight projects, which
together have 200 000 files. DuckDB copies the projects under other names until there are a million
records. Then the 200 records of one night are added to a project. One series is queried in the
files of its project, and then in the files of the whole fleet. One more project has 500 commits. If
Chromium or Chrome is installed, the browser draws the history page of this project, without a
window.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import itertools
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from jaxmeter import Record, read_file, temporary_folder
from studies.harness import ROOT, Row, StudyError, measured, read_rows, table, write_rows

MACHINES, MONTHS, COMMITS, CASES = 2, 12, 100, 25  # numbers for each project
PAGE_COMMITS = 500  # commits on the history page
PROFILED = 12  # one record in 12 of each case has a compile profile
NIGHT = 200  # records that one night adds to a project
NUMBERS = ("records", "json_bytes", "parquet_bytes", "page_bytes", "seconds", "cpu_seconds")
NUMBERS += ("peak_bytes", "drawn_seconds")
MEASURED = re.compile(r"(?<![\w.])\d+\.\d{6,}(?![\w.])")  # a measured number: six or more decimals
KEY = "py3.11-jax0.10.2-cpu"
QUERY = """SELECT "commit", median(steady_median_seconds), count(*) FROM read_parquet('{files}')
WHERE "case" = 'suite/case-7' AND machine LIKE 'host-1-3-%' GROUP BY ALL"""
# This script is added to the end of the history page. It runs after the page's own script has drawn
# everything, and writes the time since the page was opened into the title.
OPENED = """<script>document.title = "drawn " + Math.round(performance.now())</script></body>"""
# This code runs a command of reports, then writes the command's peak memory to a file. On Linux,
# the peak that `getrusage` returns for children would include the memory of the study's process.
COMMAND = """
import pathlib, runpy, sys
from studies.compare.process import status_bytes
peak = pathlib.Path(sys.argv.pop(1))
try:
    runpy.run_module("reports", run_name="__main__")
finally:
    peak.write_text(str(status_bytes("VmHWM")))
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this study to its parser."""
    add = parser.add_argument
    add("store", type=Path, help="folder of real records")
    add("--projects", type=int, default=8, help="number of projects to compact; default 8")
    add("--copies", type=int, default=32, help="number of copied projects; default 32")
    about = "number of records of each project; default 25000"
    add("--records", type=int, default=25_000, help=about)
    about = "file for the rows; default: the committed file"
    add("--out", type=Path, default=measured("fleet", "rows.csv"), help=about)


def run(options: argparse.Namespace) -> int:
    """Measure a history page; generate, compact and query records; write a row for each step."""
    found = [Record.from_json(read_file(path)) for path in sorted(options.store.rglob("*.json"))]
    real = [one for one in found if one.status == "ok" and one.samples_seconds and one.environment]
    if not real:
        raise StudyError(
            f"{options.store} contains no timed records; run `make report`, or name another store"
        )
    rows: list[Row] = []

    def note(what: str, **numbers: Any) -> None:
        rows.append({"what": what, **numbers})
        print(rows[-1], flush=True)
        write_rows(options.out, rows)

    with temporary_folder("vcjax-fleet-") as folder:
        note("history", **history_page(real, folder))
        store, fleet = folder / "store", folder / "fleet"
        for number in range(options.projects):
            project = f"project-{number:02d}"
            size = write_store(store, generated(real, options.records, seed=number))
            cost = reports("compact", store, "--into", fleet, "--project", project, "--remove")
            shutil.rmtree(store)
            note("compacted", records=options.records, json_bytes=size, **cost)
        for number in range(options.projects, options.projects + options.copies):
            copy_project(fleet, number % options.projects, number)
        held = sum(path.stat().st_size for path in fleet.rglob("*.parquet"))
        count = (options.projects + options.copies) * options.records
        note("fleet", records=count, parquet_bytes=held)
        size = write_store(store, generated(real, NIGHT, seed=0, commits=1))
        added = reports("compact", store, "--into", fleet, "--project", "project-00")
        note("night", records=NIGHT, json_bytes=size, **added)
        one_project = fleet / "project=project-03" / "**" / "*.parquet"
        for what, files in (("query", one_project), ("query all", fleet / "**" / "*.parquet")):
            note(what, **queried(files))
    return 0


def generated(
    real: Sequence[Record], count: int, *, seed: int, commits: int = COMMITS
) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each generated record.

    The commits are spread over a year and two machines. The texts are copied from the real records,
    with other machines and days. Noise is added to every number that `MEASURED` matches.
    """
    rng = random.Random(f"{seed} {commits}")
    texts = [[_text(real, case, profiled) for profiled in (True, False)] for case in range(CASES)]
    for number in range(count):
        case = number % CASES
        text = texts[case][number // CASES % PROFILED > 0]
        at = number * commits // count
        month, day = 1 + at * MONTHS // commits, 1 + at % 28
        started = f"2026-{month:02d}-{day:02d}T{number % 24:02d}:{number % 60:02d}:00+00:00"
        noise = 2.718 ** rng.gauss(0, 0.02)
        factors = (noise * (1 + rng.random() / 50) for _ in itertools.count())
        text = MEASURED.sub(lambda m, by=factors: repr(float(m[0]) * next(by)), text)
        text = text.replace("MACHINE", f"host-{at % MACHINES}-{seed}").replace("STARTED", started)
        yield f"{seed:08x}{at:032x}/{KEY}/suite/case-{case}/{number}.json", text


def _text(real: Sequence[Record], case: int, profiled: bool) -> str:
    """Return the text of a real record with placeholders for the machine and the start time."""
    record = real[case % len(real)]
    assert record.environment is not None
    environment = dataclasses.replace(record.environment, machine="MACHINE", started_utc="STARTED")
    return dataclasses.replace(
        record,
        name=f"suite/case-{case}",
        environment=environment,
        compile_summary=record.compile_summary if profiled else None,
    ).to_json()


def write_store(root: Path, records: Iterator[tuple[str, str]]) -> int:
    """Write records as files of a store, and return the size of the files in bytes."""
    size = 0
    for place, text in records:
        path = root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        size += path.write_text(text, encoding="utf-8")
    return size


def reports(*arguments: str | Path) -> Row:
    """Run ``python -m reports ARGUMENTS``; return its elapsed time, CPU time and peak memory."""
    with temporary_folder("vcjax-fleet-") as folder:
        peak = folder / "peak"
        command = [sys.executable, "-c", COMMAND, str(peak), *map(str, arguments)]
        before = os.times()
        done = subprocess.run(command, cwd=ROOT)
        after = os.times()
        if done.returncode:
            raise StudyError(
                f"python -m reports {arguments[0]} failed with exit code {done.returncode}; see "
                "the error above"
            )
        return {
            "seconds": round(after.elapsed - before.elapsed, 1),
            "cpu_seconds": round(sum(after[2:4]) - sum(before[2:4]), 1),  # of child processes
            "peak_bytes": int(peak.read_text()),
        }


def copy_project(fleet: Path, source: int, number: int) -> None:
    """Copy a project of a fleet under another name, with other machines, commits and digests."""
    duckdb = importlib.import_module("duckdb")
    names = [f"project=project-{one:02d}" for one in (source, number)]
    for path in sorted((fleet / names[0]).rglob("*.parquet")):
        within = str(path.relative_to(fleet / names[0])).replace(f"-{source}-", f"-{number}-", 1)
        target = fleet / names[1] / within
        target.parent.mkdir(parents=True, exist_ok=True)
        duckdb.sql(
            f"""COPY (SELECT * REPLACE (
                md5(digest || {number}) AS digest,
                regexp_replace(machine, '-{source}-', '-{number}-') AS machine,
                format('{{:08x}}', {number}) || substr("commit", 9) AS "commit",
                replace(record, '-{source}"', '-{number}"') AS record)
            FROM read_parquet('{path}', hive_partitioning = false))
            TO '{target}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 16384)"""
        )


def queried(files: Path) -> Row:
    """Query a series twice; return the time of the second query and the number of commits."""
    query = QUERY.format(files=files)
    connection = importlib.import_module("duckdb").connect()
    connection.execute(query).fetchall()
    started, used = time.monotonic(), time.process_time()
    found = connection.execute(query).fetchall()
    return {
        "commits": len(found),
        "seconds": round(time.monotonic() - started, 3),
        "cpu_seconds": round(time.process_time() - used, 3),
    }


def history_page(real: Sequence[Record], folder: Path) -> Row:
    """Return the cost of making a history page, and the time until a browser has drawn it."""
    records = generated(real, PAGE_COMMITS * CASES, seed=999, commits=PAGE_COMMITS)
    write_store(folder / "pages", records)
    reports("compact", folder / "pages", "--into", folder / "paged", "--project", "paged")
    # No repository contains the generated commits, so any folder serves as --repository.
    given = ["--store", folder / "paged", "--repository", folder, "--out", folder / "page"]
    cost = reports("history", *given)
    page = folder / "page" / "index.html"
    text = page.read_text(encoding="utf-8")
    found = re.search(r"(\d+) series over (\d+) commits", text)
    assert found is not None
    row: Row = {"series": int(found[1]), "commits": int(found[2])}
    row["page_bytes"] = page.stat().st_size
    page.write_text(text.replace("</body>", OPENED), encoding="utf-8")
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is not None:
        command = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom"]
        command += [f"--user-data-dir={folder / 'browser'}", page.as_uri()]
        times = []
        for _ in range(3):
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
            times += [int(ms) / 1000 for ms in re.findall(r"<title>drawn (\d+)", done.stdout)]
        row["drawn_seconds"] = statistics.median_high(times) if times else None
    return {**cost, **row}


def _table() -> str:
    rows = read_rows(measured("fleet", "rows.csv"))
    titles = {
        "compacted": "compacting the stores of {} projects, one by one",
        "night": "adding the records of one night to one of these projects",
        "fleet": "the fleet of a million records",
        "query": "query of one series in the files of a project, by DuckDB",
        "query all": "query of the same series in the files of the whole fleet",
        "history": "the history of a project: {} series, {} commits",
    }
    lines = []
    for what, title in titles.items():
        found = [row for row in rows if row["what"] == what]
        first = found[0]
        about = (first["series"], first["commits"]) if what == "history" else (len(found),)
        summed = {name: sum(float(row[name] or 0) for row in found) for name in NUMBERS}
        summed["peak_bytes"] = max(float(row["peak_bytes"] or 0) for row in found)
        lines.append([title.format(*about), *(_number(name, summed[name]) for name in NUMBERS)])
    return table(("what", *(name.replace("_", " ") for name in NUMBERS)), lines)


def _number(name: str, value: float) -> str:
    if not value:
        return ""
    if name.endswith("_bytes"):
        return f"{value / 1e6:,.1f} MB".replace(",", " ")
    return f"{value:,.0f}".replace(",", " ") if name == "records" else f"{value:.3g} s"


TABLES = {"fleet": _table}
