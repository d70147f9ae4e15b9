"""What a run shows while it waits for asv: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

# asv begins its lines with a percentage, once it counts, and dots of depth.
_ASV_LINE = re.compile(
    r"^(?:\[\s*[\d.]+%\]\s*)?·+\s*"
    r"(?P<step>Creating|Discovering|Installing|Building)\b"
)
_STEPS = {
    "Creating": "creating asv's environment (a minute or two, the first time)",
    "Discovering": "discovering benchmarks",
    "Installing": "installing the commit",
    "Building": "building the commit",
}


class _Tail:
    """The whole lines that were appended to a file since the last look."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def lines(self) -> list[str]:
        try:
            with open(self._path, "rb") as stream:
                stream.seek(self._offset)
                block = stream.read()
        except FileNotFoundError:
            return []
        whole = block[: block.rfind(b"\n") + 1]
        self._offset += len(whole)
        return whole.decode("utf-8", "replace").splitlines()


class View:
    """State of a run, drawn by `drawn`.

    Parameters
    ----------
    planned : mapping
        Rounds planned for each suite.
    progress : Path
        JSON lines written by ``benchmarks.measuring.runner.Progress``.
    log : Path
        asv's output; its last line tells what goes on between the rounds.
    times_count : int
        How often every suite is measured: for each commit and JAX version.
    """

    def __init__(
        self, planned: Mapping[str, int], progress: Path, log: Path, *, times_count: int = 1
    ) -> None:
        self._planned = dict(planned)
        self._ended = dict.fromkeys(planned, 0)
        self._times_count = times_count
        self._seen = {suite: 0 for suite in planned}
        self._events, self._log = _Tail(progress), _Tail(log)
        self.problems: list[str] = []
        self.doing = "starting asv"
        self.between_rounds = True
        """Whether asv is at work itself: before the first round, after the last."""

    @property
    def total(self) -> int:
        """Rounds of all suites."""
        return self._times_count * sum(self._planned.values())

    @property
    def done(self) -> int:
        """Rounds measured, kept from an earlier run, or given up for lack of time."""
        return sum(self._seen.values())

    def advance(self) -> list[str]:
        """Read what is new; one line of text for each thing finished, with the count."""
        told = []
        for line in self._log.lines():
            found = _ASV_LINE.match(line)
            if found:
                self.doing, self.between_rounds = _STEPS[found["step"]], True
        for line in self._events.lines():
            text = self._event(json.loads(line))
            if text:
                told.append(f"[{self.done}/{self.total}] {text}")
        return told

    def _event(self, event: dict) -> str:
        suite = event["suite"]
        if event["event"] == "suite":
            self._ended[suite] = self._ended.get(suite, 0) + 1
            through = self._ended[suite] * self._planned.get(suite, 0)
            left = through - self._seen.get(suite, 0)
            self._seen[suite] = through
            note = f", {left} rounds left out for lack of time" if left else ""
            if self.done == self.total:
                self.doing, self.between_rounds = "asv reads the results", True
            return f"{suite} done in {event['seconds']:.0f} s{note}"
        process = f"{event['case']}, process {event['round'] + 1}"
        if event["event"] == "start":
            self.doing, self.between_rounds = process, False
            return ""
        self._seen[suite] = self._seen.get(suite, 0) + 1
        if event["status"] not in ("ok", "kept"):
            self.problems.append(f"{event['case']}: {event['status']}: {event['message']}")
        return f"{process}: {event['status']}"


@contextmanager
def drawn(view: View) -> Iterator[Callable[[], None]]:
    """A call that reads what is new and shows it: as a bar on a terminal, else as lines."""
    # asv imports this module too, in environments without rich.
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    console = Console()
    if not console.is_terminal:
        yield lambda: _print_lines(view, console)
        return
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(view.doing, total=view.total)

        def draw() -> None:
            view.advance()
            bar.update(task, completed=view.done, description=view.doing[:80])

        yield draw


def _print_lines(view: View, console: Console) -> None:
    before = view.doing
    told = view.advance()
    if not told and view.doing != before and view.between_rounds:
        told = [f"[{view.done}/{view.total}] {view.doing}"]
    for line in told:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
