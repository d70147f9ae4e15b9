"""Progress of a measurement: a line for each finished round."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

SUCCEEDED = ("ok", "kept", "skipped")


class Progress:
    """Count the rounds of a plan, write a line for each round, and collect the failures.

    Parameters
    ----------
    total : int
        Number of planned rounds.
    write : callable, optional
        Function that is called with each line; it prints by default.
    """

    def __init__(self, total: int, write: Callable[[str], None] | None = None) -> None:
        self.total, self.write = total, write or partial(print, flush=True)
        self.done = 0
        self.failures: list[str] = []
        """One line for each round that did not succeed."""

    def end(self, case: str, round_index: int, status: str, message: str = "") -> None:
        """Note that a round has ended.

        `status` is the status of the round's record, or "kept" if an earlier run made the record.
        """
        self.done += 1
        note = f": {message}" if message else ""
        if status not in SUCCEEDED:
            self.failures.append(f"{case}: {status}{note}")
        self.write(f"[{self.done}/{self.total}] {case}, process {round_index + 1}: {status}{note}")

    def end_plan(self, left_out: int, seconds: float) -> None:
        """Note that a plan has ended; `left_out` rounds did not fit its time budget."""
        self.done += left_out
        note = f"; {left_out} rounds left out to stay within the time budget" if left_out else ""
        note += f"; {len(self.failures)} failed" if self.failures else ""
        self.write(f"[{self.done}/{self.total}] measured in {seconds:.0f} s{note}")
