"""The case store: one JSON record a file, ``<root>/<case>/<round>.json``, never half written."""

from __future__ import annotations

import os
import re
from pathlib import Path

from benchmarks.measuring.plan import PlannedCase
from jaxmeter import Record, RecordError

STORE_VARIABLE = "VCJAX_BENCH_STORE"


def store_root() -> Path:
    """All records: ``VCJAX_BENCH_STORE``, or ``results/records`` beside asv.conf.json."""
    named = os.environ.get(STORE_VARIABLE)
    if named:
        return Path(named)
    checkout = os.environ.get("ASV_CONF_DIR") or Path(__file__).resolve().parents[2]
    return Path(checkout) / "results" / "records"


def store_for_this_environment() -> RecordStore:
    """The store of the commit and environment that asv announces; ``local`` ones outside asv."""
    commit = os.environ.get("ASV_COMMIT", "local")
    environment = re.sub(r"[^\w.+-]+", "-", os.environ.get("ASV_ENV_NAME", "local"))
    return RecordStore(store_root() / commit / environment)


class RecordStore:
    """Records of one commit in one environment.

    Parameters
    ----------
    root : Path
        Folder of the records, made when the first one is written.
    """

    def __init__(self, root: Path) -> None:
        self.root = Path(root)

    def path(self, case: PlannedCase, round_index: int) -> Path:
        """Where the record of one round of a case lies."""
        return self.root / case.name / f"{round_index}.json"

    def read(self, case: PlannedCase, round_index: int) -> Record | None:
        """The record of one round, or None where there is none that belongs to this case.

        A file that is no record (cut short, of another schema) and a record of other parameters
        are set aside under a name ending in ``.unreadable`` and ``.stale``: the case is then
        measured again and nothing is deleted unseen.
        """
        path = self.path(case, round_index)
        try:
            text = path.read_bytes()
        except FileNotFoundError:
            return None
        try:
            record = Record.from_json(text)
        except RecordError:
            path.replace(path.with_suffix(".unreadable"))
            return None
        if record.target != case.target or dict(record.params) != dict(case.params):
            path.replace(path.with_suffix(".stale"))
            return None
        return record

    def write(self, case: PlannedCase, round_index: int, record: Record) -> Path:
        """Store one record: written beside its place, then renamed, so it is whole or absent."""
        path = self.path(case, round_index)
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}.tmp")
        text = record.to_json()  # before the file is opened: a record it refuses leaves no draft
        with open(draft, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(path)
        return path
