"""Measure the table of operations on one side of a review, in worker processes."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

import jaxmeter
from benchmarks.measuring.plan import WORKER_ENVIRONMENT, PlannedCase
from benchmarks.measuring.rounds import MeasuredSide
from benchmarks.measuring.runner import CACHED_ENVIRONMENT
from benchmarks.measuring.store import RecordStore
from benchmarks.operations.edited import EditedLine, Place, nearest
from benchmarks.operations.kept import code_digest, keep, remove_unusable, take_kept
from benchmarks.operations.table import SUITE

WORKER = (sys.executable, "-P", "-m", "benchmarks.operations.worker")
WORKERS_COUNT = 2
POLL_SECONDS = 0.05


def measure_operations(
    side: MeasuredSide, only: Sequence[str] = ("*",), kept: Path | None = None
) -> None:
    """Measure every operation that has no successful record in the store of a side.

    Two workers share the operations and run in parallel. If a worker dies in an operation, the
    record of this operation has the status "failed". `only` are patterns of the operations' names.
    `kept` is a folder with records for later reviews of the same code. If `kept` is None, no record
    is copied from another review or kept for later reviews.
    """
    for path in side.store.root.glob(f"{SUITE}/*/0.json"):
        if side.store.succeeded(f"{SUITE}/{path.parent.name}", 0) is None:
            path.unlink(missing_ok=True)  # an unreadable file is missing, because it was renamed
    digest = ""
    code = side.package, side.workers.imports / "benchmarks"
    if kept is not None:
        digest = code_digest(*code)
        remove_unusable(side, digest)
        with _file_errors_printed():
            if count := take_kept(kept / digest, side, only):
                print(f"{SUITE}: records of the same code that are reused: {count}", flush=True)
    _work(side, only, workers_count=WORKERS_COUNT)
    # Compute the digest again: somebody may have edited the benchmarks in the meantime.
    if kept is not None and code_digest(*code) == digest:
        with _file_errors_printed():
            keep(kept / digest, side)


@contextlib.contextmanager
def _file_errors_printed() -> Iterator[None]:
    """Print file errors instead of raising them, because a review can do without kept records."""
    try:
        yield
    except (OSError, jaxmeter.FileError) as error:
        print(f"{SUITE}: kept records cannot be used or written: {error}", flush=True)


def take_operation_times(side: MeasuredSide, names: Sequence[str], *, round_index: int) -> None:
    """Measure the steady-state times of operations in one process, as the round `round_index`.

    The operations run one after the other. They share imports and prepared inputs, and their
    programs come from the compilation cache. Existing records of this round are replaced.
    """
    for name in names:
        side.store.path(f"{SUITE}/{name}", round_index).unlink(missing_ok=True)
    _work(side, names, round_index=round_index)


def _work(
    side: MeasuredSide, only: Sequence[str], *, round_index: int = 0, workers_count: int = 1
) -> None:
    """Run workers that share the operations, and kill them if this process is interrupted.

    If a worker dies in an operation, another worker measures the rest of its operations.
    """
    paths = str(side.workers.imports), os.environ.get("PYTHONPATH")
    environment = {
        **os.environ,
        **WORKER_ENVIRONMENT,
        **CACHED_ENVIRONMENT,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
    }
    command = [
        *WORKER,
        *(str(side.store.root), str(side.details), "--round", str(round_index), "--only", *only),
        *("--parent", str(os.getpid())),
    ]
    notes = [side.details / f"current-{part}" for part in range(workers_count)]
    with contextlib.ExitStack() as stack:

        def start(part: int) -> tuple[subprocess.Popen, IO[bytes]]:
            notes[part].unlink(missing_ok=True)  # an earlier worker may have left this file
            errors = stack.enter_context(tempfile.TemporaryFile())
            process = subprocess.Popen(
                [*command, "--part", f"{part}/{workers_count}"], env=environment, stderr=errors
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            return process, errors

        running = {part: start(part) for part in range(workers_count)}
        while running:
            time.sleep(POLL_SECONDS)
            for part, (process, errors) in list(running.items()):
                if process.poll() is not None:
                    del running[part]
                if process.returncode:
                    errors.seek(0)
                    text = errors.read().decode(errors="replace")[-2000:]
                    why = f"exit status {process.returncode}: {text}"
                    _record_death(side.store, notes[part], round_index, why)
                    running[part] = start(part)


def _record_death(store: RecordStore, note: Path, round_index: int, why: str) -> None:
    """Record that the operation in progress failed; raise an error if no operation had begun.

    The worker writes the name of each operation that it begins into the file `note`. If the
    operation in progress already has a record, no new record is written.
    """
    try:
        found = json.loads(note.read_text())
    except (OSError, ValueError):
        raise jaxmeter.JaxmeterError(
            "the worker of operations failed before its first operation; correct this error: "
            f"{why[-400:]}"
        ) from None
    case = PlannedCase(name=f"{SUITE}/{found['name']}", target=found["target"], params={}, rounds=1)
    if store.read(case, round_index) is None:
        failure = jaxmeter.Failure("run", "WorkerDied", why)
        host = jaxmeter.host_environment()
        record = jaxmeter.Record(
            case.name, "failed", target=case.target, failure=failure, environment=host
        )
        store.write(case, round_index, record)


def write_differences(
    both: tuple[MeasuredSide, MeasuredSide], out: Path, edits: Sequence[EditedLine] = ()
) -> list[str]:
    """Write ``out/operations/<name>.txt`` for each operation that differs between two commits.

    An operation differs if its program, its numbers of traces or compiles, or its checks differ.
    If `nearest` returns a line of `edits`, ``<name>.txt`` begins with this line, which is the most
    likely cause.

    Return the names of the programs that differ, and of the calls (`Calls`) with different numbers
    of traces or compiles. In the other operations, the programs of calls can still differ, because
    only their traces and compiles are compared. The time of work on the host can differ too.
    """
    changed = []
    for path in sorted(both[1].store.root.glob(f"{SUITE}/*/0.json")):
        name = path.parent.name
        paths = [side.details / f"{name}.json" for side in both]
        are_there = all(one.exists() for one in paths)
        found = difference(*map(jaxmeter.read_file, paths)) if are_there else Difference()
        if not found.same_program:
            changed.append(name)
        if not found.text:
            records = [side.store.find(f"{SUITE}/{name}", 0) for side in both]
            results = [
                None if record is None else (record.checks, record.counts) for record in records
            ]
            if results[0] == results[1]:
                continue
        edit = nearest(edits, found.places)
        target = out / SUITE / f"{name}.txt"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(
            "\n".join(map(str, filter(None, (edit, found.text)))) + "\n", encoding="utf-8"
        )
    return changed


class Difference(NamedTuple):
    """The differences of an operation between BASE and HEAD: program, traces and compiles."""

    text: str = ""
    """A description of the differences; empty if nothing differs."""
    places: Sequence[Place] = ()
    """The places that differ.

    In a program: first new lines, then removed lines, then lines that both programs have.
    """
    same_program: bool = True
    """Whether the compiled programs are the same; jaxprs may differ.

    For a sequence of calls: whether the numbers of traces and compiles are the same.
    """


def difference(base: bytes, head: bytes) -> Difference:
    """Return the differences between two inventories of a program, or between two reports of calls.

    `base` and `head` are in JSON format.
    """
    if base == head:
        return Difference()
    if "functions" in json.loads(head):
        return _difference_of_calls(*(jaxmeter.Watched.from_json(text) for text in (base, head)))
    found = jaxmeter.diff(*(jaxmeter.Inventory.from_json(text) for text in (base, head)))
    if found.same and not found.sizes:
        return Difference()
    lines = [(one.line, one.now) for one in found.lines]
    # A removed line has no number in HEAD.
    places = [(line.file, line.function, line.line if now else 0) for line, now in lines]
    text = jaxmeter.table(found)
    for change in found.lines[:1]:  # new lines are first
        verb = "new" if change.before is None else "gone" if change.now is None else "changed most"
        line = change.line
        text = f"{verb}: {line.file}:{line.line} in {line.function}: {line.text}\n{text}"
    return Difference(text, places, same_program=found.same is True)


def _difference_of_calls(base: jaxmeter.Watched, head: jaxmeter.Watched) -> Difference:
    lines: list[str] = []
    seen: list[Place] = []
    counted = [
        {(one.name, _short(one.defined.rpartition(":")[0])): one for one in watched.functions}
        for watched in (base, head)
    ]
    for key in counted[1] | counted[0]:
        counts = [_counts(side.get(key)) for side in counted]
        if counts[0] != counts[1]:
            one = counted[1].get(key) or counted[0][key]
            traces, compiles = zip(*counts, strict=True)
            causes = "; ".join(map(str, one.causes))
            places = ", ".join(dict.fromkeys(f"{_short(p.file)}:{p.line}" for p in one.places))
            seen += [(_short(place.file), place.function, place.line) for place in one.places]
            lines.append(
                f"{one.name}: traces {traces[0]} -> {traces[1]}, compiles {compiles[0]} -> "
                f"{compiles[1]}; called from {places}" + (f"; {causes}" if causes else "")
            )
    return Difference("\n".join(lines), seen, same_program=not lines)


def _counts(one: jaxmeter.WatchedFunction | None) -> tuple[int, int]:
    if one is None:
        return 0, 0
    return one.traces_count, one.compiles_count + one.cache_hits_count


def _short(file: str) -> str:
    """Return the end of a path: from its last folder ``vcjax``, or else its last two parts."""
    parts = Path(file).parts
    start = max((i for i, part in enumerate(parts) if part == "vcjax"), default=len(parts) - 2)
    return "/".join(parts[max(start, 0) :])
