"""Make the `Sheet` that describes the compiles of a whole program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from jaxmeter._records.run import STAGES, RunCompile, WatchedRun
from jaxmeter._render.sheet import Code, Row, Sheet, Table
from jaxmeter._render.units import bytes_text, count_text, place_text, seconds_text, type_text

_OVERLAP_RATIO = 1.05


def run_sheet(run: WatchedRun) -> Sheet:
    """Describe the changes that would save time, and the slowest compiles."""
    savings = [
        Row(one.kind, one.what, str(one.compiles_count), seconds_text(one.seconds))
        for one in run.savings
    ]
    slowest = sorted(run.compiles, key=lambda one: -one.own_seconds)
    columns = ("compile", "line", "trace:", "lower:", "compile:", "cause")
    tables = (
        Table(("avoidable time", "cause", "compiles:", "time:"), savings, limit=8),
        Table(columns, list(map(_compile, slowest)), "the slowest", limit=10),
    )
    suggestions = tuple(dict.fromkeys(one.suggestion for one in run.savings))
    return Sheet(headline(run), None, tables, tuple(notes(run)), suggestions)


def headline(run: WatchedRun) -> str:
    """Return the result of a watched run as one sentence."""
    if not any(process.jax for process in run.processes):
        return f"no process imported JAX ({count_text(len(run.processes), 'Python process')})"
    text = (
        f"this run took {seconds_text(run.seconds)} and spent "
        f"{seconds_text(run.busy_seconds)} of this time on tracing, lowering and compiling: "
        f"{count_text(run.compiles_count, 'program')} compiled"
    )
    if run.cache_hits_count:
        text += f", {run.cache_hits_count} read from the persistent cache"
    if run.avoidable_seconds:
        # Threads that compile at the same time cannot save the sum of their times.
        most = seconds_text(min(run.avoidable_seconds, run.busy_seconds))
        text += f"; up to {most} could be saved if nothing was compiled again"
    return text


def notes(run: WatchedRun) -> Iterator[str]:
    """Yield the notes that a reader of the numbers needs, such as the exit code."""
    yield f"the program ended with exit code {run.exit_code}" + (
        f", by signal {run.exit_code - 128}" if run.exit_code > 128 else ""
    )
    if not run.processes:
        yield (
            "no Python process wrote events: check that the program runs Python and does not "
            "change PYTHONPATH"
        )
    elif not any(process.jax for process in run.processes):
        pythons = dict.fromkeys(process.executable for process in run.processes)
        yield f"the program ran {', '.join(pythons)}: check that JAX is installed there"
    jax = [process for process in run.processes if process.jax]
    for process in jax:
        if process.ending == "without notice":
            yield (
                f"process {process.number} (pid {process.pid}) ended without notice: it was "
                "killed, crashed, called os._exit or is still running; all events that it wrote "
                "are included"
            )
    if len(jax) > 1:
        yield f"{len(jax)} processes imported JAX; their compiles may overlap in time"
    if run.compiling_seconds > _OVERLAP_RATIO * run.busy_seconds:
        yield (
            "threads or processes compiled at the same time: the times of all compiles add up to "
            f"{seconds_text(run.compiling_seconds)}"
        )
    for text, count in Counter(text for p in run.processes for text in p.problems).items():
        yield f"{text} ({count_text(count, 'time')})"
    spent = sum(process.recorder_seconds for process in run.processes)
    if jax:
        yield f"recording took {seconds_text(spent)}, not counting the import of jaxmeter"


def captured_text(one: RunCompile) -> str:
    """Return the size and number of captured arrays, and the largest arrays; empty if the size is 0
    or not known."""
    if not one.captured_bytes:
        return ""
    text = f"{bytes_text(one.captured_bytes)} in {count_text(one.captured_count or 0, 'array')}"
    largest = (
        f"{array.path or 'an array'} {type_text(array)}"
        + (f" used at {place_text(array.line)}" if array.line else "")
        for array in one.captured
    )
    return ": ".join(filter(None, (text, ", ".join(largest))))


def cache_text(one: RunCompile) -> str:
    """Return how the persistent cache handled a compile, and the reason if there is one."""
    return f"{one.cache}: {one.cache_reason}" if one.cache_reason else one.cache


def _compile(one: RunCompile) -> Row:
    author = one.author
    stages = (seconds_text(one.stage_seconds(s) or None) for s in STAGES)
    captured = captured_text(one)
    return Row(
        Code(one.id),
        Code("" if author is None else place_text(author.source)),
        *stages,
        one.reason,
        details=[f"captures {captured}"] if captured else [],
    )
