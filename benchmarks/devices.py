"""How does time fall with the number of devices?

The devices are virtual ones of the CPU: XLA cuts the machine's cores up among them, so that more
devices than cores cannot help. What the table shows is what dividing itself costs and how far one
device leaves cores idle.
"""

from __future__ import annotations

from benchmarks import common
from benchmarks.measuring.plan import PlannedCase

FULL_ROUNDS = 6


class DeviceSweep(common.CaseSuite):
    """Prepare and external field on the W7-X boundary, half period, targets over CPU devices."""

    suite = "device_sweep"
    params = ((1, 2, 4, 8), (6,))
    param_names = ("device_count", "digits")

    def setup_cache(self):
        """Measure every case once, in worker processes."""
        return self.measured()

    setup_cache.timeout = common.SUITE_TIMEOUT_SECONDS

    def case(self, grid: str, device_count: int, digits: int) -> PlannedCase:
        """One number of devices; none on the quick grid."""
        return PlannedCase(
            name=f"{self.suite}/w7x-d{digits}-n{device_count}",
            target="benchmarks.cases.devices:external_field",
            params={
                "workload": "w7x",
                "digits": digits,
                "half_period": True,
                "device_count": device_count,
            },
            rounds=0 if grid == "quick" else FULL_ROUNDS,
            repeat=10,
            env={"XLA_FLAGS": f"--xla_force_host_platform_device_count={device_count}"},
        )

    def track_prepare_seconds(self, cache, device_count, digits):
        """Tables and prepare, compiled before: one sample a process."""
        return self.times(cache, "prepare_seconds", (device_count, digits))

    def track_compile_seconds(self, cache, device_count, digits):
        """Trace, lower and compile: one sample a process."""
        return self.times(cache, "compile_seconds", (device_count, digits))

    def track_steady_median_seconds(self, cache, device_count, digits):
        """Median of the steady-state calls: one sample a process."""
        return self.times(cache, "steady_median_seconds", (device_count, digits))

    def track_steady_std_seconds(self, cache, device_count, digits):
        """Standard deviation of the steady-state calls: one sample a process."""
        return self.times(cache, "steady_std_seconds", (device_count, digits))

    def track_temp_bytes(self, cache, device_count, digits):
        """Scratch memory of the program on one device."""
        return self.number(cache, "temp_bytes", (device_count, digits))

    def track_error_relative(self, cache, device_count, digits):
        """Largest error against the known field, relative to max|B|; devices must not change it."""
        return self.number(cache, "error_relative", (device_count, digits))

    track_prepare_seconds.unit = "seconds"
    track_compile_seconds.unit = "seconds"
    track_steady_median_seconds.unit = "seconds"
    track_steady_std_seconds.unit = "seconds"
    track_temp_bytes.unit = "bytes"
    track_error_relative.unit = "1"
