"""What baking arrays into a program costs: immutable plain data."""

from __future__ import annotations

from dataclasses import dataclass

from jaxmeter.plain import Plain
from jaxmeter.units import seconds_text

MEGABYTE_BYTES = 1_000_000


@dataclass(frozen=True)
class Calibration(Plain):
    """Seconds of lowering and compiling for each megabyte (1e6 bytes) that is baked in."""

    seconds_per_megabyte: float
    jax: str
    backend: str
    device_kind: str
    cpu_model: str
    measured_utc: str

    def seconds(self, size_bytes: float) -> float:
        """What baking so many bytes in adds to every compile."""
        return self.seconds_per_megabyte * size_bytes / MEGABYTE_BYTES


def calibration_table(made: Calibration) -> str:
    """One line: what a megabyte costs."""
    return (
        f"compiling takes {seconds_text(made.seconds_per_megabyte)} for each megabyte that is "
        f"baked in (JAX {made.jax}, {made.device_kind}, {made.cpu_model}, {made.measured_utc})"
    )
