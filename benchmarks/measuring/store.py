"""The store: a JSON file for each record, ``<root>/<case>/<round>.json``, written atomically."""

from __future__ import annotations

import importlib.metadata
import os
import re
import sys
from pathlib import Path

from benchmarks.measuring.plan import PlannedCase
from jaxmeter import FileError, Record, RecordError, read_file, write_file

STORE_VARIABLE = "VCJAX_BENCH_STORE"


def store_root() -> Path:
    """Return the folder of all records: ``VCJAX_BENCH_STORE``, or ``results/records``.

    The default folder is next to asv.conf.json.
    """
    if named := os.environ.get(STORE_VARIABLE):
        return Path(named)
    checkout = os.environ.get("ASV_CONF_DIR") or Path(__file__).resolve().parents[2]
    return Path(checkout) / "results" / "records"


def environment_name() -> str:
    """Return the name of the folder for the records of this environment.

    Under asv, the name is asv's name of the environment. Outside asv, the name has the versions of
    Python and JAX, and a platform. The platform is the value of JAX_PLATFORMS. If this variable is
    not set, the platform is "gpu" if a GPU plugin of JAX is installed, and "cpu" otherwise.
    """
    if "ASV_ENV_NAME" in os.environ:
        return re.sub(r"[^\w.+-]+", "-", os.environ["ASV_ENV_NAME"])
    version = ".".join(map(str, sys.version_info[:2]))
    names = [found.metadata["Name"] or "" for found in importlib.metadata.distributions()]
    plugins = [name for name in names if re.fullmatch(r"jax[-_](cuda|rocm)\d*[-_]plugin", name)]
    device = os.environ.get("JAX_PLATFORMS") or ("gpu" if plugins else "cpu")
    return f"py{version}-jax{importlib.metadata.version('jax')}-{device}"


class RecordStore:
    """Records of one commit in one environment, in the folder `root`."""

    def __init__(self, root: Path) -> None:
        self.root = Path(root)

    def path(self, case: str, round_index: int) -> Path:
        """Return the path of the record of a round; `case` is the name of the case."""
        return self.root / case / f"{round_index}.json"

    def find(self, case: str, round_index: int) -> Record | None:
        """Return the record of a round, or None if there is no record; `case` is the case's name.

        A file that cannot be read as a record (truncated, another schema, not a regular file, too
        large) gets the suffix ``.unreadable``, and the result is None. An earlier ``.unreadable``
        file of the same round is overwritten.
        """
        path = self.path(case, round_index)
        try:
            return Record.from_json(read_file(path))
        except FileNotFoundError:
            return None
        except (FileError, RecordError):
            path.replace(path.with_suffix(".unreadable"))
            return None

    def succeeded(self, case: str, round_index: int) -> Record | None:
        """Return the record that `find` returns, or None if its status is not "ok"."""
        record = self.find(case, round_index)
        return record if record is not None and record.status == "ok" else None

    def read(self, case: PlannedCase, round_index: int) -> Record | None:
        """Return the record of one round of a case, or None if there is no such record.

        A record with another target or other parameters than the case gets the suffix ``.stale``,
        and the result is None. Unreadable files are treated as in `find`.
        """
        record = self.find(case.name, round_index)
        if record is None:
            return None
        if record.target != case.target or dict(record.params) != dict(case.params):
            path = self.path(case.name, round_index)
            path.replace(path.with_suffix(".stale"))
            return None
        return record

    def write(self, case: PlannedCase, round_index: int, record: Record) -> Path:
        """Write a record atomically, and return its path."""
        path = self.path(case.name, round_index)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(
                f"cannot make the folder {str(path.parent)!r} ({error.strerror or error}); free "
                "some disk space, allow writing there, or choose another folder: set "
                f"{STORE_VARIABLE}, or give --out if the command has this option"
            ) from error
        write_file(path, record.to_json())
        return path
