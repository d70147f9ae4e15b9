"""Define benchmark cases that show when capturing an array costs more than passing it.

Each program multiplies an array by a number and sums the products. Some programs first apply an
operation to the array, "exp" or "cumsum". If the array is captured, the compiler may evaluate this
operation at compile time. This is called constant folding.
"""

from __future__ import annotations

import itertools

import jax.numpy as jnp
import numpy as np

from benchmarks.closure import ENVIRONMENT
from benchmarks.measuring.plan import PlannedCase
from jaxmeter import Case

OPERATIONS = {"none": lambda array: array, "exp": jnp.exp, "cumsum": jnp.cumsum}
WAYS = ("argument", "closure")
SIZES_BYTES = tuple(10**power for power in range(3, 10))
LARGEST_CUMSUM_BYTES = 10**6
"""Larger arrays are left out: constant folding of their cumulative sums takes minutes."""
UNCERTAIN_BYTES = (10**6, 10**8)
"""Arrays between these sizes need more rounds. For larger arrays, a few rounds show the difference
between capturing and passing. For smaller arrays, more rounds would not show this difference,
because the spread of compile times is larger than the difference."""


def cases(*, rounds: int) -> list[PlannedCase]:
    """Return, for each operation and size, a case that captures and a case that passes the array.

    Sizes within `UNCERTAIN_BYTES` are measured in `rounds` rounds, other sizes in half as many
    rounds, rounded up.
    """
    least, most = UNCERTAIN_BYTES
    return [
        PlannedCase(
            name=f"capture_size/{operation}-{way}-{size}",
            target="studies.closure.break_even:scaled_sum",
            params={"operation": operation, "variant": way, "array_bytes": size},
            rounds=rounds if least <= size <= most else (rounds + 1) // 2,
            repeat=10,
            max_seconds=2.0,
            timeout_seconds=300.0,
            env=ENVIRONMENT,
        )
        for operation, size, way in itertools.product(OPERATIONS, SIZES_BYTES, WAYS)
        if operation != "cumsum" or size <= LARGEST_CUMSUM_BYTES
    ]


def scaled_sum(*, operation: str, variant: str, array_bytes: int) -> Case:
    """Return the case that multiplies a float32 array by a number and sums the products.

    The `operation` is applied to the array before the multiplication. The `variant` says whether
    the array is passed or captured. `array_bytes` is a multiple of 4.
    """
    draw = np.random.default_rng(0).random(array_bytes // 4, np.float32)
    draw -= np.float32(0.5)
    array, change = jnp.asarray(draw), OPERATIONS[operation]

    def passed(array, x):
        return jnp.sum(change(array) * x)

    x = jnp.float32(2.0)
    ways = {
        "argument": Case(passed, (array, x)),
        "closure": Case(lambda x: passed(array, x), (x,)),
    }
    return ways[variant]
