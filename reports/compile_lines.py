"""Find the source lines and kernels that explain a case's compile time and changes in this time.

The lines and kernels come from a profile of one process at each commit (`jaxmeter.CompileSummary`).
The profile lists the slowest lines and kernels. The seconds of the profile are scaled to the whole
compile time at the commit. The whole compile time is the sum of trace, lower and compile; the
median over the successful processes is used.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from jaxmeter import CompileSummary

from .units import counted, difference, seconds

MOST_LINES = 4
# Lines with changes below these limits are left out. Both limits are shares of the longer of the
# two compile times. The first limit is for lines with changed counts, the second for other lines.
# The second is larger, because the times in two profiles of equal programs differ by a few percent.
EXACT_SHARE, NOISY_SHARE = 0.01, 0.03


@dataclass(frozen=True)
class CompileLines:
    """A compile profile, and the total time in seconds that the profile is scaled to."""

    profile: CompileSummary
    seconds: float

    def scaled(self, part_seconds: float) -> float:
        return part_seconds * self.seconds / self.profile.seconds


@dataclass(frozen=True)
class CompileLineChange:
    """A source line at two commits, BASE and HEAD."""

    source: str  # file and line number; at HEAD if the profile at HEAD lists the line
    text: str  # the code
    base_seconds: float  # compile time of the line; 0 if the profile does not list the line
    head_seconds: float
    counts: tuple[str, ...] = ()  # changed numbers of equations, kernels and instructions
    # The line's slowest kernel and the kernel's seconds, at the commit where the line is slower.
    kernel: str = ""

    @property
    def change_seconds(self) -> float:
        return self.head_seconds - self.base_seconds

    def __str__(self) -> str:
        change = difference(self.base_seconds, self.head_seconds, "seconds")
        times = f"{seconds(self.base_seconds)} to {seconds(self.head_seconds)}"
        kernel = [f"slowest kernel {self.kernel}"] if self.kernel else []
        return "; ".join([f"{change} at {self.source} ({times})", *self.counts, *kernel])


def line_changes(base: CompileLines, head: CompileLines) -> tuple[CompileLineChange, ...]:
    """Return the source lines that explain a changed compile time, at most `MOST_LINES`.

    Lines are matched by file, function and text, because an edit elsewhere in a file changes the
    line numbers. The first choice is lines with a changed number of equations, kernels or
    instructions, because these numbers are exact. The time of such a line must have changed by at
    least the share `EXACT_SHARE` of the longer of the two compile times. If no line meets both
    conditions, the second choice is lines with a time that changed by at least the share
    `NOISY_SHARE`, in the same direction as the total time. The largest changes in the direction of
    the total time come first.
    """
    before, after = _by_line(base), _by_line(head)
    changes = []
    for key in before.keys() | after.keys():
        old, new = before.get(key, _Line()), after.get(key, _Line())
        slower, slower_side = (new, head) if new.seconds > old.seconds else (old, base)
        changes.append(
            CompileLineChange(
                new.source or old.source,
                key[-1],
                old.seconds,
                new.seconds,
                tuple(
                    f"{before_count} to {counted(new.counts[noun], noun)}"
                    for noun in new.counts | old.counts
                    if (before_count := old.counts[noun]) != new.counts[noun]
                ),
                _slowest_kernel(slower_side, slower.source),
            )
        )
    sign = 1 if head.seconds >= base.seconds else -1
    whole = max(base.seconds, head.seconds)
    recounted = (one for one in changes if one.counts)
    exact = [one for one in recounted if abs(one.change_seconds) >= EXACT_SHARE * whole]
    noisy = [one for one in changes if sign * one.change_seconds >= NOISY_SHARE * whole]
    found = sorted(exact or noisy, key=lambda one: (-sign * one.change_seconds, one.source))
    return tuple(found[:MOST_LINES])


def slowest_lines(lines: CompileLines) -> str:
    """Return the slowest lines of a compile, at most three: "a.py:3 1.20 s, b.py:7 310 ms"."""
    shown = lines.profile.lines[:3]
    return ", ".join(f"{one.source} {seconds(lines.scaled(one.seconds))}" for one in shown)


@dataclass
class _Line:
    """The seconds and counts of all lines that have the same text in the same function."""

    source: str = ""
    seconds: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)


def _by_line(lines: CompileLines) -> dict[tuple[str, str, str], _Line]:
    found: dict[tuple[str, str, str], _Line] = defaultdict(_Line)
    for one in lines.profile.lines:
        file = one.source.rpartition(":")[0]
        line = found[file, one.function, one.text or one.source]
        line.source = line.source or one.source
        line.seconds += lines.scaled(one.seconds)
        line.counts["equation"] += one.equations_count
        line.counts["kernel"] += one.kernels_count
        line.counts["instruction"] += one.instructions_count
    return dict(found)


def _slowest_kernel(lines: CompileLines, source: str) -> str:
    kernels = (kernel for kernel in lines.profile.kernels if kernel.source == source)
    return next((f"{one.name}, {seconds(lines.scaled(one.seconds))}" for one in kernels), "")


def compile_lines(
    profiles: Iterable[CompileSummary | None], median_seconds: float
) -> CompileLines | None:
    """Return the first profile with a positive time, scaled to `median_seconds`.

    Return None if there is no such profile, or if `median_seconds` is 0.
    """
    profile = next((one for one in profiles if one is not None and one.seconds > 0), None)
    return CompileLines(profile, median_seconds) if profile and median_seconds > 0 else None
