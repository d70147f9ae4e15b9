"""Suites for tile sizes, devices, memory, distances from the surface and shape gradients."""

from __future__ import annotations

from benchmarks import common
from benchmarks.measuring.plan import PlannedCase

W7X_FIELD = "benchmarks.cases.field:external_field"
# The quick grid has automatic, small, medium and large tiles, which show the trend. The full grid
# has all combinations of sizes.
QUICK_TILES = (("auto", "auto"), (256, 20), (1024, 80), (4096, 320))


class ChunkSweep(common.CaseSuite):
    """Cost of the external field on half a period of the W7-X boundary, by tile size.

    A tile is a block of sources and targets of the far-field sum. The size of a tile must not
    change the error.
    """

    suite = "chunk_sweep"
    params = (("auto", 256, 1024, 4096), ("auto", 20, 80, 320), (6,))
    param_names = ("chunk_size", "target_chunk_size", "digits")
    quantities = (*common.TIMES, "temp_bytes", "error_relative")
    quick_budget_seconds = 40.0

    def setup_cache(self):
        return self.measured()

    def case(self, grid: str, chunk_size, target_chunk_size, digits: int) -> PlannedCase:
        quick_rounds = 2 if (chunk_size, target_chunk_size) in QUICK_TILES else 0
        sizes = {"chunk_size": chunk_size, "target_chunk_size": target_chunk_size}
        return PlannedCase(
            name=f"{self.suite}/w7x-d{digits}-c{chunk_size}-t{target_chunk_size}",
            target=W7X_FIELD,
            params={**common.W7X, "digits": digits, **sizes},
            rounds=quick_rounds if grid == "quick" else 6,
            repeat=5,
            preparation=common.casing_preparation(digits),
        )


class DeviceSweep(common.CaseSuite):
    """Cost of `vcjax.prepare` and of the external field, with targets divided over CPU devices.

    The surface is half a period of the W7-X boundary. The number of devices must not change the
    error. The devices are virtual: they share the machine's cores. More devices than cores
    therefore cannot save time. The suite shows the cost of dividing the targets over devices. It
    also shows the time that this division saves if a single device leaves cores idle.
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
            target=W7X_FIELD,
            params={**common.W7X, "digits": digits, "device_count": device_count},
            rounds=0 if grid == "quick" else 6,
            repeat=10,
            env={"XLA_FLAGS": f"--xla_force_host_platform_device_count={device_count}"},
        )


class MemorySweep(common.CaseSuite):
    """Temporary memory of the external field and its gradient, by tile size.

    The problem is ``case_vc_large`` of `benchmarks.workloads.casing`. A tile is a block of sources
    and targets of the far-field sum. Arrays are float64. With automatic tile sizes, the field
    should need at most 10 MiB and the gradient at most 20 MiB. The tile size must not change the
    error.
    """

    suite = "memory_sweep"
    params = (("field", "gradient"), ("auto", 256, 1024), ("auto", 20, 80))
    param_names = ("quantity", "chunk_size", "target_chunk_size")
    quantities = ("temp_bytes", "steady_median_seconds", "error_relative")
    quick_budget_seconds = 60.0

    def setup_cache(self):
        return self.measured()

    def case(self, grid: str, quantity: str, chunk_size, target_chunk_size) -> PlannedCase:
        """Return the planned case; the quick grid has only the automatic tile size."""
        automatic = chunk_size == target_chunk_size == "auto"
        sizes = {"chunk_size": chunk_size, "target_chunk_size": target_chunk_size}
        return PlannedCase(
            name=f"{self.suite}/{quantity}-c{chunk_size}-t{target_chunk_size}",
            target="benchmarks.cases.field:case_vc_large",
            params={"quantity": quantity, **sizes},
            rounds=1 if automatic or grid == "full" else 0,
            repeat=5,
        )


class OffSurface(common.CaseSuite):
    """Cost and error of the external and internal field near the W7-X boundary, by distance.

    The boundary is half a period with a minor radius of 0.5 metres. Points lie on both sides of the
    boundary, all at the same distance, which is given in metres. A call evaluates both fields at
    128 points. There are two aims at nine digits: the error is at most 1e-8; points at any distance
    take at most three times as long as the farthest points.
    """

    suite = "off_surface"
    params = ((3e-1, 1e-1, 3e-2, 1e-2, 1e-3, 1e-4), (3, 9))
    param_names = ("distance", "digits")
    quantities = (
        *common.COMPILE_TIMES,
        "steady_median_seconds",
        "temp_bytes",
        "error_relative",
    )
    quick_budget_seconds = 60.0

    def setup_cache(self):
        return self.measured()

    def case(self, grid: str, distance: float, digits: int) -> PlannedCase:
        """Return the planned case; the quick grid has two distances, at nine digits."""
        quick = digits == 9 and distance in (3e-1, 1e-4)
        points = {"distance": distance, "point_count": 128}
        return PlannedCase(
            name=f"{self.suite}/w7x-d{digits}-at{distance:g}",
            target="benchmarks.cases.off_surface:fields_at_distance",
            params={"workload": "w7x", "digits": digits, **points},
            rounds=int(quick) if grid == "quick" else 3,
            repeat=5,
        )


class ShapeGradient(common.CaseSuite):
    """Cost of a scalar function of the external field on W7-X, and of the scalar's gradient.

    The gradient is with respect to the surface points X. The surface covers half a period. The
    worker uses one thread. There are three aims at six digits (120 000 nodes): the gradient takes
    at most four times as long as the scalar; the process needs less than 1 GB; forward and reverse
    mode agree to 1e-10.
    """

    suite = "shape_gradient"
    params = ((3, 6),)
    param_names = ("digits",)
    quantities = (
        "value_seconds",
        "gradient_seconds",
        *common.COMPILE_TIMES,
        "temp_bytes",
        "process_peak_bytes",
        "modes_error_relative",
    )
    quick_budget_seconds = 40.0

    def setup_cache(self):
        return self.measured()

    def case(self, grid: str, digits: int) -> PlannedCase:
        """Return the planned case for a number of digits; the quick grid has only 3 digits."""
        return PlannedCase(
            name=f"{self.suite}/w7x-d{digits}",
            target="benchmarks.cases.shape:shape_gradient",
            params={"workload": "w7x", "digits": digits},
            rounds=int(digits == 3) if grid == "quick" else 6,
            repeat=3,
            env=common.ONE_THREAD_ENVIRONMENT,
            one_cpu=True,
        )
