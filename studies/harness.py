"""The harness of all studies: rows that a rerun resumes from, worker processes, docs tables."""

from __future__ import annotations

import csv
import dataclasses
import gzip
import importlib
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.measuring.checkout import ROOT
from jaxmeter import BenchmarkCase, Record, host_environment, jax_environment, run_case

RESULTS = ROOT / "results"
Row = dict[str, Any]


class StudyError(Exception):
    """A study cannot be measured; the message says what to try."""


def measured(study: str, name: str) -> Path:
    """Return the path of a committed file of rows."""
    return ROOT / "studies" / study / "measured" / name


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a CSV (as text) or JSON Lines file, gzipped or not; [] without a file.

    A last line that was cut short when a run was killed is ignored.
    """
    if not path.exists():
        return []
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    text = text[: text.rfind("\n") + 1]
    if ".jsonl" in path.suffixes:
        return [json.loads(line) for line in text.splitlines()]
    return list(csv.DictReader(io.StringIO(text)))


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Replace a CSV file; its columns are those of all rows, in the order of their appearance.

    The same rows give the same bytes, gzipped or not.
    """
    rows = list(rows)
    text = io.StringIO()
    columns = list(dict.fromkeys(name for row in rows for name in row))
    lines = csv.DictWriter(text, columns, lineterminator="\n")
    lines.writeheader()
    lines.writerows(rows)
    data = text.getvalue().encode()
    replace_file(path, gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def append_row(path: Path, row: Row) -> None:
    """Append a row to a CSV or JSON Lines file, in place of a line that was cut short."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        file.seek(0)
        whole = file.read().rfind(b"\n") + 1
        file.truncate(whole)
        line = io.StringIO()
        if path.suffix == ".jsonl":
            line.write(json.dumps(row) + "\n")
        else:
            writer = csv.DictWriter(line, row, lineterminator="\n")
            if not whole:
                writer.writeheader()
            writer.writerow(row)
        file.write(line.getvalue().encode())


def replace_file(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}.tmp")
    draft.write_bytes(data)
    draft.replace(path)


def in_worker(
    function: Callable[..., Iterable[Row]],
    path: Path,
    arguments: Mapping[str, Any],
    *,
    env: Mapping[str, str] | None = None,
    timeout_seconds: float | None = None,
) -> None:
    """Append the rows that a function yields in a fresh process; each is kept when it is yielded.

    The environment of the process is written to ``NAME.environment.json`` next to the rows.

    Raises
    ------
    StudyError
        If the process fails or takes too long.
    """
    target = f"{function.__module__}:{function.__name__}"
    command = [sys.executable, "-m", "studies", "worker", target, str(path.resolve())]
    variables = os.environ | {"JAX_ENABLE_COMPILATION_CACHE": "false"} | dict(env or {})
    given = json.dumps(arguments).encode()
    try:
        done = subprocess.run(
            command, input=given, env=variables, cwd=ROOT, timeout=timeout_seconds
        )
    except subprocess.TimeoutExpired:
        raise StudyError(f"{target} ran for {timeout_seconds:.0f} s: stopped") from None
    if done.returncode:
        raise StudyError(f"{target} ended with exit code {done.returncode}")


def work(target: str, path: Path) -> None:
    """Be the process of `in_worker`: read the arguments from standard input."""
    module, _, name = target.partition(":")
    function = getattr(importlib.import_module(module), name)
    rows = function(**json.load(sys.stdin))
    environment = dataclasses.replace(host_environment(), **jax_environment())
    text = json.dumps(dataclasses.asdict(environment), indent=1, default=str) + "\n"
    replace_file(path.with_name(f"{path.stem}.environment.json"), text.encode())
    for row in rows:
        append_row(path, row)


def run_here(case: BenchmarkCase) -> Record:
    """Run a case in a process that also imports from this checkout."""
    return run_case(dataclasses.replace(case, path=(*case.path, str(ROOT))))


def table(header: Sequence[str], rows: Iterable[Sequence[Any]], left: int = 1) -> str:
    """Return a Markdown table, the first columns aligned left and the others right."""
    lines = [header, [*[":--"] * left, *["--:"] * (len(header) - left)], *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


_TABLE = re.compile(r"(<!-- rows: (?P<name>.+?) -->\n)\n*(?:\|.*\n)*\n*")


def with_tables(text: str, tables: Mapping[str, Callable[[], str]]) -> str:
    """Return a document with the table below each ``<!-- rows: NAME -->`` written again."""
    written = _TABLE.sub(lambda found: f"{found[1]}\n{tables[found['name']]()}\n", text)
    return written.rstrip("\n") + "\n"
