"""Time of `vcjax.prepare` and of the external field against the number of devices.

The devices are virtual: they share the machine's cores. More devices than cores therefore cannot
save time. The suite shows the cost of dividing the targets over devices, and the time that this
division saves if one device leaves cores idle.
"""

from __future__ import annotations

from benchmarks import common
from benchmarks.measuring.plan import PlannedCase

FULL_ROUNDS = 6


class DeviceSweep(common.CaseSuite):
    """Cost of `vcjax.prepare` and of the external field, with targets divided over CPU devices.

    The surface is half a period of the W7-X boundary. The number of devices must not change the
    error.
    """

    suite = "device_sweep"
    params = ((1, 2, 4, 8), (6,))
    param_names = ("device_count", "digits")
    quantities = ("prepare_seconds", *common.TIMES, "temp_bytes", "error_relative")

    def setup_cache(self):
        return self.measured()

    def case(self, grid: str, device_count: int, digits: int) -> PlannedCase:
        """Return the planned case for a device count; it is measured only on the full grid."""
        return PlannedCase(
            name=f"{self.suite}/w7x-d{digits}-n{device_count}",
            target="benchmarks.cases.field:external_field",
            params={**common.W7X, "digits": digits, "device_count": device_count},
            rounds=0 if grid == "quick" else FULL_ROUNDS,
            repeat=10,
            env={"XLA_FLAGS": f"--xla_force_host_platform_device_count={device_count}"},
        )
