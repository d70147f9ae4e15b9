"""Cases of one array each: from how many bytes on capturing an array is worse than passing it.

The program multiplies the array by a number and sums it, so compile times differ by the array
alone. The compiler folds an operation on the array alone where the array is captured.
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
"""The compiler takes minutes to fold a cumulative sum of a megabyte."""
UNCERTAIN_BYTES = (10**6, 10**8)
"""Below, the difference is lost in the spread of compile times, whatever the number of rounds;
above, a few rounds show it."""


def cases(*, rounds: int) -> list[PlannedCase]:
    """Return the cases of all sizes, captured and passed.

    `rounds` are those of sizes within `UNCERTAIN_BYTES`; others have half as many.
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
    """Return the case of one array, as a worker measures it.

    Parameters
    ----------
    operation : {"none", "exp", "cumsum"}
        Applied to the array before the sum.
    variant : {"argument", "closure"}
    array_bytes : int
        A multiple of 4.

    Raises
    ------
    ValueError
        For an unknown operation or variant.
    """
    if operation not in OPERATIONS or variant not in WAYS:
        raise ValueError(
            f"scaled_sum got operation={operation!r}, variant={variant!r}; give one of "
            f"{tuple(OPERATIONS)} and of {WAYS}"
        )
    draw = np.random.default_rng(0).random(array_bytes // 4, np.float32)
    draw -= np.float32(0.5)
    array, change = jnp.asarray(draw), OPERATIONS[operation]

    def passed(array, x):
        return jnp.sum(change(array) * x)

    x = jnp.float32(2.0)
    if variant == "argument":
        return Case(passed, (array, x))
    return Case(lambda x: passed(array, x), (x,))
