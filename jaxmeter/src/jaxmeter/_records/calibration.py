"""What embedding arrays into a program costs: immutable plain data."""

from __future__ import annotations

from dataclasses import dataclass

from jaxmeter._records.plain_data import PlainData
from jaxmeter._render.units import seconds_text

MEGABYTE_BYTES = 1_000_000


@dataclass(frozen=True)
class Calibration(PlainData):
    """Seconds of lowering and compiling for each megabyte (1e6 bytes) that is embedded."""

    seconds_per_megabyte: float
    jax: str
    backend: str
    device_kind: str
    cpu_model: str
    measured_utc: str
    samples_seconds_per_megabyte: tuple[float, ...] = ()
    """Of each round, in order; the median of these counts."""

    def seconds(self, size_bytes: float) -> float:
        """What embedding so many bytes in adds to every compile."""
        return self.seconds_per_megabyte * size_bytes / MEGABYTE_BYTES


def calibration_table(made: Calibration) -> str:
    """One line: what a megabyte costs, and how much that varied."""
    samples = made.samples_seconds_per_megabyte
    least, most = (seconds_text(of(samples), 2) if samples else "" for of in (min, max))
    spread = f", {least} to {most} in {len(samples)} rounds," if samples else ""
    return (
        f"compiling takes {seconds_text(made.seconds_per_megabyte, 2)}{spread} for each megabyte "
        f"that is embedded (JAX {made.jax}, {made.device_kind}, {made.cpu_model}, "
        f"{made.measured_utc})"
    )
