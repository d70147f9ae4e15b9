"""The cost of embedding arrays into a program: immutable plain data."""

from __future__ import annotations

from dataclasses import dataclass

from jaxmeter._records.plain_data import PlainData

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
        """Return the seconds that embedding so many bytes adds to every compile."""
        return self.seconds_per_megabyte * size_bytes / MEGABYTE_BYTES
