"""Keep the exact metrics of operations for later reviews of the same code.

The exact metrics of an operation depend on the code, the versions of the packages, the machine and
some environment variables. For each combination of these, the first successful records are kept,
and later reviews copy the records. A second review against the same BASE therefore measures the
exact metrics of HEAD only.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fnmatch
import hashlib
import importlib.metadata
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import jaxmeter
from benchmarks.measuring.rounds import MeasuredSide
from benchmarks.measuring.store import environment_name
from benchmarks.operations.table import SUITE

MAX_FOLDERS = 20
"""Maximum number of folders with kept metrics; the oldest folders are removed."""
_OPTIONS = ("CUDA_", "JAX_", "OMP_", "XLA_")
"""Environment variables with these prefixes may change programs or answers."""
_PASSING = ("started_utc", "load_1min_before", "load_1min_after")
"""Fields of an environment that differ from run to run."""
_NOTE = "code"
"""Name of the file with the digest of the measured code, in a side's folder of details."""


def code_digest(package: Path, benchmarks: Path) -> str:
    """Return a digest of everything that the exact metrics of a package ``vcjax`` depend on."""
    digest = hashlib.sha256()
    for folder in (package, benchmarks, Path(jaxmeter.__file__).parent):
        root = folder.resolve()
        paths = [p for p in root.rglob("*") if p.is_file() and "__pycache__" not in p.parts]
        if not paths:
            raise jaxmeter.JaxmeterError(
                f"code_digest: got the folder {folder}, which contains no file; give the folder of "
                "a package"
            )
        for path in sorted(paths):
            digest.update(f"\0{folder.name}/{path.relative_to(root)}\0".encode())
            digest.update(path.read_bytes())
    facts = {f"{one.metadata['Name']} {one.version}" for one in importlib.metadata.distributions()}
    facts |= {f"{key}={text}" for key, text in os.environ.items() if key.startswith(_OPTIONS)}
    host = dataclasses.asdict(jaxmeter.host_environment())
    facts |= {f"{key}: {value}" for key, value in host.items() if key not in _PASSING}
    digest.update("\0".join([environment_name(), *sorted(facts)]).encode())
    return digest.hexdigest()[:20]


def remove_unusable(side: MeasuredSide, digest: str) -> None:
    """Remove a side's exact metrics that are unusable for the code with this digest.

    Records of other code, failed records and records without details (after an interruption) are
    unusable. At the end, `digest` is written into the side's folder of details.
    """
    details, suite = _measured(side)
    note = details / _NOTE
    is_same = note.is_file() and note.read_text() == digest
    usable = set(_succeeded(details, suite)) if is_same else set()
    for path in suite.glob("*/0.json"):
        if path.parent.name not in usable:
            path.unlink()
            (details / f"{path.parent.name}.json").unlink(missing_ok=True)
    details.mkdir(parents=True, exist_ok=True)
    jaxmeter.write_file(note, digest)


def take_kept(kept: Path, side: MeasuredSide, only: Sequence[str]) -> int:
    """Copy records from the folder `kept` to a side, and return the number of copied records.

    A record is copied if the side lacks it. `only` are patterns of the operations' names.
    """
    return _copy_missing((kept / "details", kept / "records"), _measured(side), only)


def keep(kept: Path, side: MeasuredSide) -> None:
    """Copy the successful records of a side to the folder `kept`, and remove the oldest folders.

    The name of `kept` is a result of `code_digest`. At most `MAX_FOLDERS` folders remain in the
    parent of `kept`.
    """
    _copy_missing(_measured(side), (kept / "details", kept / "records"))
    if kept.exists():
        kept.touch()
        folders = sorted(kept.parent.iterdir(), key=lambda path: path.stat().st_mtime)
        for old in folders[:-MAX_FOLDERS]:
            shutil.rmtree(old, ignore_errors=True)


def _measured(side: MeasuredSide) -> tuple[Path, Path]:
    """Return the folder with details of a side's operations, and the folder with their records."""
    return side.details, side.store.root / SUITE


def _succeeded(details: Path, suite: Path) -> Iterator[str]:
    """Yield the name of each operation that has details and a successful record."""
    for path in sorted(suite.glob("*/0.json")):
        name = path.parent.name
        with contextlib.suppress(jaxmeter.FileError, jaxmeter.RecordError):
            record = jaxmeter.Record.from_json(jaxmeter.read_file(path))
            if record.status == "ok" and (details / f"{name}.json").is_file():
                yield name


def _copy_missing(
    source: tuple[Path, Path], target: tuple[Path, Path], only: Sequence[str] = ("*",)
) -> int:
    """Copy successful records from `source` to `target`; return the number of copied records.

    A record is copied if `target` lacks it. `source` and `target` are pairs of folders (details,
    records). `only` are patterns of the operations' names.
    """
    missing = set(_succeeded(*source)) - set(_succeeded(*target))
    chosen = [name for name in missing if any(fnmatch.fnmatch(name, one) for one in only)]
    for name in chosen:
        # The record is copied last, because a record without details is not used.
        files = f"{name}.json", f"{name}/0.json"
        for here, there, file in zip(source, target, files, strict=True):
            (there / file).parent.mkdir(parents=True, exist_ok=True)
            jaxmeter.write_file(there / file, jaxmeter.read_file(here / file))
    return len(chosen)
