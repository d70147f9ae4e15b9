"""A review: the verdict on what HEAD changed against BASE, before any markup."""

from dataclasses import dataclass, field

from jaxmeter.comparison_record import Rule

from ..wording import counted
from .causes import Cause, causes
from .findings import PRIMARY, Finding, Lost, find
from .sides import Sides

NOTHING, REGRESSION = 0, 1


@dataclass(frozen=True)
class Judging:
    """How strictly: jaxmeter's rule for times, and whether slower times fail a review."""

    rule: Rule = field(default_factory=Rule)
    gate_times: bool = False


@dataclass(frozen=True)
class Review:
    sides: Sides
    judging: Judging
    findings: tuple[Finding, ...]
    lost: tuple[Lost, ...]
    causes: tuple[Cause, ...]

    @property
    def failing(self) -> tuple[Finding, ...]:
        """What fails the review: gated metrics that became worse."""
        return tuple(f for f in self.findings if f.verdict == "worse" and f.is_gated)

    @property
    def broken(self) -> tuple[Lost, ...]:
        """Cells that worked at BASE and do not at HEAD; they fail the review too."""
        return tuple(entry for entry in self.lost if entry.is_worse)

    @property
    def exit_code(self) -> int:
        """0 where nothing gated became worse, else 1."""
        return REGRESSION if self.failing or self.broken else NOTHING

    @property
    def slower(self) -> tuple[Finding, ...]:
        """Primary times that became worse, gated or not."""
        return self._primary("worse")

    @property
    def faster(self) -> tuple[Finding, ...]:
        return self._primary("better")

    def _primary(self, verdict: str) -> tuple[Finding, ...]:
        names = PRIMARY
        return tuple(f for f in self.findings if f.verdict == verdict and f.metric.name in names)

    @property
    def compared_count(self) -> int:
        """Cells that were compared."""
        return len({finding.cell for finding in self.findings})

    @property
    def untested(self) -> tuple[Finding, ...]:
        """Primary times that nobody could judge: measured apart, or in too few rounds."""
        return tuple(f for f in self.findings if f.metric.name in PRIMARY and not f.is_tested)

    @property
    def verdict(self) -> str:
        """The review in one sentence."""
        parts = []
        if self.failing:
            names = dict.fromkeys(f.metric.title for f in self.failing)
            cells = len({f.cell for f in self.failing})
            parts.append(f"{', '.join(names)} worse in {counted(cells, 'cell')}")
        if self.broken:
            parts.append(f"{counted(len(self.broken), 'cell')} broken")
        slower = [f for f in self.slower if not f.is_gated]
        if slower:
            parts.append(f"{counted(len(slower), 'time')} longer (informs only)")
        if self.faster:
            parts.append(f"{counted(len(self.faster), 'time')} shorter")
        better = [f for f in self.findings if f.verdict == "better" and f.is_gated]
        better = [f for f in better if f.metric.kind != "noisy"]
        if better:
            parts.append(f"{counted(len(better), 'exact metric')} better")
        compared = counted(self.compared_count, "cell")
        if not parts:
            return f"Nothing became worse or better in {compared}{self._gaps}."
        head = "Regression: " if self.exit_code else ""
        return f"{head}{'; '.join(parts)}; of {compared} compared{self._gaps}."

    @property
    def _gaps(self) -> str:
        """What the verdict does not speak of: silence about it would read as a pass."""
        lost, files = len(self.lost) - len(self.broken), len(self.sides.set_aside)
        told = [f"{counted(lost, 'cell')} not compared"] if lost else []
        told += [f"{counted(files, 'unreadable file')} set aside"] if files else []
        return f" ({', '.join(told)})" if told else ""


def make_review(sides: Sides, judging: Judging | None = None) -> Review:
    """Compare both sides and say what explains what."""
    judging = judging or Judging()
    findings, lost = find(sides, rule=judging.rule, gate_times=judging.gate_times)
    return Review(sides, judging, findings, lost, causes(sides, findings))
