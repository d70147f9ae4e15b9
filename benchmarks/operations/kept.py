"""Keep the exact metrics of operations for later reviews of the same code.

The exact metrics of an operation follow from the code, the versions of the packages and the
processor. They are measured once for each combination, and later reviews copy their records. A
second review against the same BASE therefore measures only HEAD.
"""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import importlib.metadata
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import jaxmeter
from benchmarks.measuring.store import environment_name

MAX_FOLDERS = 20
"""Number of combinations whose metrics are kept; the metrics of the oldest are removed."""
_PACKAGES = ("jax", "jaxlib", "numpy", "scipy")
_OPTIONS = ("JAX_", "XLA_")
"""First letters of the environment variables that change programs."""


def code_digest(package: Path, benchmarks: Path) -> str:
    """Return a digest of everything that the exact metrics of a package ``vcjax`` depend on.

    Parameters
    ----------
    package : Path
        The folder ``vcjax`` that is measured.
    benchmarks : Path
        The folder ``benchmarks`` whose operations are measured.
    """
    digest = hashlib.sha256()
    for folder in (package, benchmarks, Path(jaxmeter.__file__).parent):
        root = folder.resolve()
        for path in sorted(root.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(f"\0{folder.name}/{path.relative_to(root)}\0".encode())
                digest.update(path.read_bytes())
    facts = [f"{name} {importlib.metadata.version(name)}" for name in _PACKAGES]
    facts += [f"{key}={value}" for key, value in sorted(os.environ.items()) if key[:4] in _OPTIONS]
    host = jaxmeter.host_environment()
    facts += [environment_name(), host.machine, str(host.cpu_model)]
    digest.update("\0".join(facts).encode())
    return digest.hexdigest()[:20]


def take_kept(kept: Path, suite: Path, details: Path, only: Sequence[str]) -> int:
    """Copy kept records of operations into a store that lacks them, and return their number.

    Parameters
    ----------
    kept : Path
        The folder of one digest, filled by `keep`.
    suite : Path
        The folder in the store that contains a folder for each operation.
    details : Path
        The folder for descriptions of what each operation compiled.
    only : sequence of str
        Patterns of the operations' names.
    """
    chosen = [
        name
        for name in _succeeded(kept / "records", kept / "details")
        if any(fnmatch.fnmatch(name, pattern) for pattern in only)
    ]
    return sum(
        _copied(name, (kept / "records", kept / "details"), (suite, details)) for name in chosen
    )


def keep(kept: Path, suite: Path, details: Path) -> None:
    """Copy the successful records of operations to `kept`; parameters as for `take_kept`.

    Then remove the oldest folders next to `kept`, so that `MAX_FOLDERS` folders remain.
    """
    for name in _succeeded(suite, details):
        _copied(name, (suite, details), (kept / "records", kept / "details"))
    if kept.exists():
        kept.touch()
        folders = sorted(kept.parent.iterdir(), key=lambda path: path.stat().st_mtime)
        for old in folders[:-MAX_FOLDERS]:
            shutil.rmtree(old, ignore_errors=True)


def _succeeded(suite: Path, details: Path) -> Iterator[str]:
    """Yield the name of each operation that has details and a successful record."""
    for path in sorted(suite.glob("*/0.json")):
        name = path.parent.name
        with contextlib.suppress(jaxmeter.FileError, jaxmeter.RecordError):
            record = jaxmeter.Record.from_json(jaxmeter.read_file(path))
            if record.status == "ok" and (details / f"{name}.json").is_file():
                yield name


def _copied(name: str, sources: tuple[Path, Path], targets: tuple[Path, Path]) -> bool:
    """Copy the record and details of an operation; return False if the target has the record."""
    if (targets[0] / name / "0.json").exists():
        return False
    for file, source, target in zip(
        (f"{name}.json", f"{name}/0.json"), sources[::-1], targets[::-1], strict=True
    ):
        (target / file).parent.mkdir(parents=True, exist_ok=True)
        jaxmeter.write_file(target / file, jaxmeter.read_file(source / file))
    return True
