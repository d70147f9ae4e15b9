"""The shared parts of all studies: files of rows, worker processes, and the tables of docs/."""

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
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.measuring.checkout import ROOT
from jaxmeter import host_environment, jax_environment, temporary_folder, write_file

RESULTS = ROOT / "results"
Row = dict[str, Any]


class StudyError(Exception):
    """Error of a study that cannot be measured; the message says what to try."""


def measured(study: str, name: str) -> Path:
    """Return the path of a committed file of a study, such as a file of rows."""
    return ROOT / "studies" / study / "measured" / name


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a CSV or JSON Lines file, or [] if the file does not exist.

    The file may be gzipped. Values from a CSV file are strings. An incomplete last line, which a
    killed run leaves behind, is ignored.
    """
    if not path.exists():
        return []
    data = path.read_bytes()
    try:
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
        text = text[: text.rfind("\n") + 1]
        if ".jsonl" in path.suffixes:
            return [json.loads(line) for line in text.splitlines()]
        return list(csv.DictReader(io.StringIO(text)))
    except (ValueError, EOFError, gzip.BadGzipFile, zlib.error, csv.Error) as error:
        raise StudyError(
            f"cannot read the rows in {path}: {error}; restore the file, or rename it and run the "
            "study again"
        ) from error


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write rows to a CSV file; an existing file is replaced.

    The columns are the keys of all rows, in the order of their first appearance. The file is
    gzipped if its name ends in ``.gz``. Writing the same rows again gives the same bytes.
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
    """Remove an incomplete last line from a CSV or JSON Lines file, then append a row."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        file.seek(0)
        kept = file.read()
        whole = kept.rfind(b"\n") + 1
        file.truncate(whole)
        if path.suffix == ".jsonl":
            text = json.dumps(row) + "\n"
        else:
            header, line = (_csv_line(values) for values in (row, row.values()))
            if whole and not kept.startswith(header.encode()):
                raise StudyError(
                    f"the columns of {path} differ from the columns of the new row "
                    f"({', '.join(row)}); rename the file, or give another file with --out"
                )
            text = line if whole else header + line
        file.write(text.encode())


def _csv_line(values: Iterable[Any]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(values)
    return line.getvalue()


def replace_file(path: Path, content: str | bytes) -> None:
    """Write a file completely or not at all; make its folder if the folder is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, content)


def in_worker(
    function: Callable[..., Iterable[Row]],
    path: Path,
    arguments: Mapping[str, Any],
    *,
    env: Mapping[str, str] | None = None,
    timeout_seconds: float | None = None,
) -> None:
    """Run a function in a fresh process, and append the yielded rows to the file `path`.

    The function must be at the top level of a module. Its keyword `arguments` are passed as JSON.
    `env` is added to the environment variables. JAX's compilation cache is off unless `env` turns
    it on. A description of the machine and of JAX is written next to the rows: for ``rows.csv``, to
    ``rows.environment.json``.
    """
    target = f"{function.__module__}:{function.__name__}"
    command = ("studies", "worker", target, str(path.resolve()))
    variables = {"JAX_ENABLE_COMPILATION_CACHE": "false", **(env or {})}
    run_module(command, arguments, name=target, env=variables, timeout_seconds=timeout_seconds)


def worker_rows(
    function: Callable[..., Iterable[Row]], arguments: Mapping[str, Any], **options: Any
) -> list[Row]:
    """Return the rows that `in_worker` would append to a file; their values are strings."""
    with temporary_folder("vcjax-study-") as folder:
        in_worker(function, folder / "rows.csv", arguments, **options)
        return read_rows(folder / "rows.csv")


def run_module(
    command: Sequence[str],
    given: Mapping[str, Any],
    *,
    name: str,
    env: Mapping[str, str],
    timeout_seconds: float | None = None,
    stdout: int | None = None,
) -> Any:
    """Run ``python -m COMMAND``, with `given` as JSON on standard input.

    `name` names the process in error messages, and `env` is added to the environment variables.
    Return the standard output as text if `stdout` is ``subprocess.PIPE``, else None.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-m", *command],
            input=json.dumps(given),
            text=True,
            env=os.environ | dict(env),
            cwd=ROOT,
            timeout=timeout_seconds,
            stdout=stdout,
        )
    except subprocess.TimeoutExpired:
        raise StudyError(
            f"{name} did not finish within {timeout_seconds:.0f} s and was stopped; rerun the "
            "study while nothing else runs, or with a longer --timeout if the study has this option"
        ) from None
    if done.returncode:
        raise StudyError(
            f"{name} failed with exit code {done.returncode}; see its error above (-9 without an "
            "error often means that the memory was full)"
        )
    return done.stdout


def work(target: str, path: Path) -> None:
    """Run the function `target`, such as "module:name", and append its rows to the file `path`.

    `in_worker` starts this process, and writes the function's arguments to standard input.
    """
    module, _, name = target.partition(":")
    function = getattr(importlib.import_module(module), name)
    rows = function(**json.load(sys.stdin))
    environment = dataclasses.replace(host_environment(), **jax_environment())
    text = json.dumps(dataclasses.asdict(environment), indent=1, default=str) + "\n"
    replace_file(path.with_name(f"{path.stem}.environment.json"), text)
    for row in rows:
        append_row(path, row)


def table(header: Sequence[str], rows: Iterable[Sequence[Any]], left: int = 1) -> str:
    """Return a Markdown table; the first `left` columns are aligned left, the others right."""
    lines = [header, [*[":--"] * left, *["--:"] * (len(header) - left)], *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


_TABLE = re.compile(r"(<!-- rows: (?P<name>.+?) -->\n)\n*(?:\|.*\n)*\n*")


def with_tables(text: str, tables: Mapping[str, Callable[[], str]]) -> str:
    """Return the document `text` with a new table below each comment ``<!-- rows: NAME -->``."""
    written = _TABLE.sub(lambda found: f"{found[1]}\n{tables[found['name']]()}\n", text)
    return written.rstrip("\n") + "\n"
