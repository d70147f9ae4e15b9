"""Write and read fleets: records of many machines and projects in Parquet files, with DuckDB.

    FLEET/project=NAME/environment=NAME/month=YYYY-MM/records.parquet

Each row is a record. The columns include the place (commit, environment key, case and round), the
known metrics, the record as JSON text, and a digest. The digest depends on the commit, environment
key, case and content of the record, not on its round. A file contains each digest only once, so
adding the same record again has no effect. Two different records of the same place are both kept,
unlike in a store. The file of a month is replaced as a whole, so a reader sees either the old file
or the new file.
"""

import fcntl
import hashlib
import importlib
import os
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from jaxmeter import Record, RecordError, read_file

from ..errors import ReportError
from ..quantities import KNOWN, Row, measurement_row
from .load import SkippedFile, Store, StoredRecord, printable_text, read_store
from .machines import environment_names, machine_names
from .merge import Merged, draft_of, read_source

FILE = "records.parquet"
PARTITIONS = ("project=", "environment=", "month=")
NUMBERS = tuple(metric.name for metric in KNOWN)
TEXTS = ("digest", "machine", "commit", "environment_key", "case", "status", "started_utc")
COLUMNS = (*TEXTS, "round_index", *NUMBERS, "record")

# Two successive processes of one case, commit and environment key on a machine are an A/A pair. A
# machine with at least `FEWEST_PAIRS` A/A pairs is skipped if the steady-state times differ by more
# than `MOST_SCATTER` in at least a quarter of these pairs. A review has an equal limit,
# `MAX_REACH`: an inconclusive time is "not judged" if it may have changed by more than `MAX_REACH`.
MOST_SCATTER = 0.2
FEWEST_PAIRS = 20
SCATTER = """
    SELECT machine, exp(quantile_cont(abs(change), 0.75)) - 1 AS scatter, count(*) AS pairs
    FROM (
        SELECT machine, ln(steady_median_seconds / lag(steady_median_seconds) OVER (
            PARTITION BY machine, environment_key, "commit", "case" ORDER BY started_utc)) AS change
        FROM records WHERE status = 'ok' AND steady_median_seconds > 0)
    WHERE change IS NOT NULL
    GROUP BY machine HAVING scatter > ? AND pairs >= ? ORDER BY machine
"""


def compact(
    sources: Sequence[str | Path], into: str | Path, *, project: str, remove: bool = False
) -> Merged:
    """Add the records of stores or measured pairs to the fleet `into`, as records of `project`.

    Return the number of added records, the number of records that the fleet had already, and the
    refused files. If `remove` is true, delete a record's file in a source once the fleet contains
    the record.
    """
    if not re.fullmatch(r"[\w.-]+", project):
        raise ReportError(
            f"compact: got --project {project!r}; use only letters, digits, dots, hyphens and "
            "underscores"
        )
    duckdb = _duckdb()
    connection, into = duckdb.connect(), Path(into)
    added, same, refused = 0, 0, []
    for source in map(Path, sources):
        started = time.time()
        found, unread = read_source("compact", source, into)
        refused += unread
        months: dict[Path, list[Row]] = defaultdict(list)
        for place, row in _rows(found):
            months[into / f"project={project}" / place / FILE].append(row)
        with _locked(into):
            for path, rows in sorted(months.items()):
                try:
                    count = _add(connection, path, rows)
                except duckdb.Error as error:
                    raise ReportError(
                        f"compact: {path} cannot be read or written: {error}; if the file is "
                        "damaged, restore it, or delete it and add its records again"
                    ) from error
                added, same = added + count, same + len(rows) - count
        for stored in found if remove else ():
            # Keep a file that was written again after it was read: it may contain another record.
            if stored.path.stat().st_mtime < started:
                stored.path.unlink()
    return Merged(added, same, tuple(refused))


def _rows(found: Sequence[StoredRecord]) -> Iterator[tuple[Path, Row]]:
    """Yield each record as a row, with the folder of its environment and month."""
    named = zip(environment_names(found), machine_names(found), found, strict=True)
    for name, machine, stored in named:
        measured, text = measurement_row(stored), _text(stored)
        content = (stored.commit, stored.environment_key, stored.case, text)
        started = str(measured["started_utc"] or "")
        row = {one: measured.get(one) for one in (*TEXTS, "round_index", *NUMBERS)}
        row |= {"machine": machine, "record": text, "started_utc": started}
        row["digest"] = hashlib.blake2b("\0".join(content).encode(), digest_size=16).hexdigest()
        month = started[:7] if re.match(r"\d{4}-\d\d-", started) else "unknown"
        environment = re.sub(r"[^\w.@+-]+", "-", name).strip("-") or "unknown"
        yield Path(f"environment={environment}", f"month={month}"), row


def _text(stored: StoredRecord) -> str:
    """Return a record's JSON text: from its file, or new text if the file is not plain UTF-8."""
    try:
        text = printable_text(read_file(stored.path)).decode()
    except UnicodeDecodeError:
        text = ""
    return text if text.startswith("{") else stored.record.to_json()


def _add(connection: Any, path: Path, rows: Sequence[Row]) -> int:
    """Add the rows that a month's file lacks; return their number."""
    new = pd.DataFrame(list({row["digest"]: row for row in rows}.values()), columns=list(COLUMNS))
    new[list(NUMBERS)] = new[list(NUMBERS)].astype(float)
    connection.register("new", new)
    old = f"FROM read_parquet({_quoted(path)}, hive_partitioning = false)"
    known = f"SELECT digest {old}" if path.exists() else "SELECT '' AS digest"
    connection.execute(f"CREATE OR REPLACE TEMP VIEW known AS {known}")
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE added AS FROM new ANTI JOIN known USING (digest)"
    )
    [(count,)] = connection.execute("SELECT count(*) FROM added").fetchall()
    if count:
        path.parent.mkdir(parents=True, exist_ok=True)
        everything = f"FROM added UNION ALL BY NAME {old}" if path.exists() else "FROM added"
        with draft_of(path) as draft:
            # The rows are sorted by case, so that a query for one case reads only a small part.
            connection.execute(
                f'COPY ({everything} ORDER BY "case", "commit", round_index) TO {_quoted(draft)} '
                "(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 16384)"
            )
            draft.replace(path)
    return count


def is_fleet(root: Path) -> bool:
    """Return whether a folder is a fleet, or a part of a fleet: project, environment or month."""
    if root.resolve().name.startswith(PARTITIONS):
        return True
    return root.is_dir() and any(one.name.startswith(PARTITIONS[0]) for one in root.iterdir())


def read_any(root: str | Path) -> Store:
    """Read a store, or the records of one project of a fleet.

    In a fleet, all records of a machine are skipped if its A/A runs differ too much.
    `Store.skipped` names these machines.
    """
    root = Path(root)
    if not is_fleet(root):
        return read_store(root)
    projects = sorted(one.name for one in root.glob(f"{PARTITIONS[0]}*"))
    if len(projects) > 1:
        raise ReportError(
            f"read_any: {root} is a fleet of {len(projects)} projects; give the folder of one "
            f"project, such as {root / projects[0]}"
        )
    duckdb, files = _duckdb(), _quoted(root / "**" / FILE)
    connection = duckdb.connect()
    try:
        connection.execute(
            f"CREATE VIEW records AS FROM read_parquet({files}, hive_partitioning = false)"
        )
        loud = connection.execute(SCATTER, [MOST_SCATTER, FEWEST_PAIRS]).fetchall()
        rows = connection.execute(
            'SELECT "commit", environment_key, "case", round_index, record FROM records '
            "WHERE NOT list_contains(?, machine) ORDER BY ALL",
            [[machine for machine, *_ in loud]],
        ).fetchall()
    except duckdb.Error as error:
        raise ReportError(
            f"read_any: {root} cannot be read as a fleet: {error}; if a file is damaged, restore "
            "it, or delete it and add its records again with python -m reports compact"
        ) from error
    skipped = [
        SkippedFile(
            Path(machine),
            f"skipped machine: a quarter of its {pairs} A/A pairs of steady-state times differ by "
            f"more than {100 * scatter:.0f}%; the limit is {100 * MOST_SCATTER:.0f}%",
        )
        for machine, scatter, pairs in loud
    ]
    records = []
    for commit, key, case, number, text in rows:
        path = Path(commit, key, case, f"{number}.json")
        try:
            record = Record.from_json(text)
        except RecordError as error:  # such as a record of a newer version of jaxmeter
            skipped.append(SkippedFile(path, str(error)))
        else:
            records.append(StoredRecord(commit, key, case, number, root / path, record))
    return Store(root, tuple(records), tuple(skipped))


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock a folder, so that only one process at a time adds to the fleet."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _quoted(path: Path) -> str:
    return "'" + os.fspath(path).replace("'", "''") + "'"


def _duckdb() -> Any:
    try:
        return importlib.import_module("duckdb")
    except ImportError as error:
        raise ReportError(
            f"fleet: DuckDB cannot be imported ({error}); run pip install 'vcjax[fleet]'"
        ) from error
