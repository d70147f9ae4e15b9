"""From how many bytes on is closing over an array worse than passing it? Cases of one array each.

The program is as small as can be, so that the array is all that its compiling differs in: the
array times a number, summed. An operation on the array alone is one that the compiler may carry out
by itself where the array is closed over.
"""

from __future__ import annotations

from typing import Any

from benchmarks.closure import ENVIRONMENT
from benchmarks.measuring.plan import PlannedCase

OPERATIONS = ("none", "exp", "cumsum")
WAYS = ("argument", "closure")
SIZES_BYTES = tuple(10**power for power in range(3, 10))
# The compiler takes minutes for a cumulative sum of a megabyte, so nothing larger is asked.
LARGEST_CUMSUM_BYTES = 10**6
# Below, the difference that is sought is lost in what compiling varies by, with more rounds too;
# above, it is so much larger that few show it.
UNCERTAIN_BYTES = (10**6, 10**8)


def cases(*, rounds: int) -> list[PlannedCase]:
    """The curve: every size, closed over and passed.

    Parameters
    ----------
    rounds : int
        Of sizes within `UNCERTAIN_BYTES`; others have half as many.
    """
    least, most = UNCERTAIN_BYTES
    return [
        _cell(operation, way, size, rounds=rounds if least <= size <= most else (rounds + 1) // 2)
        for operation in OPERATIONS
        for size in SIZES_BYTES
        if operation != "cumsum" or size <= LARGEST_CUMSUM_BYTES
        for way in WAYS
    ]


def _cell(operation: str, way: str, size_bytes: int, *, rounds: int) -> PlannedCase:
    return PlannedCase(
        name=f"capture_size/{operation}-{way}-{size_bytes}",
        target="studies.closure.break_even:scaled_sum",
        params={"operation": operation, "variant": way, "array_bytes": size_bytes},
        rounds=rounds,
        repeat=10,
        max_seconds=2.0,
        timeout_seconds=300.0,
        env=ENVIRONMENT,
    )


def scaled_sum(*, operation: str, variant: str, array_bytes: int) -> Any:
    """The sum of an array times a number, as the meter's case; runs in a worker.

    Parameters
    ----------
    operation : {"none", "exp", "cumsum"}
        What is done to the array before.
    variant : {"argument", "closure"}
    array_bytes : int
        A multiple of 4.

    Raises
    ------
    ValueError
        For an operation or variant that is not there.
    """
    # Here, since asv imports this module where no JAX is wanted.
    import jax.numpy as jnp
    import numpy as np

    from jaxmeter import Case

    operations = {"none": lambda array: array, "exp": jnp.exp, "cumsum": jnp.cumsum}
    if operation not in operations or variant not in WAYS:
        raise ValueError(
            f"scaled_sum got operation={operation!r}, variant={variant!r}; give one of "
            f"{OPERATIONS} and of {WAYS}"
        )
    draw = np.random.default_rng(0).random(array_bytes // 4, np.float32)
    draw -= np.float32(0.5)
    array, change = jnp.asarray(draw), operations[operation]

    def passed(array, x):
        return jnp.sum(change(array) * x)

    def closed(x):
        return passed(array, x)

    x = jnp.float32(2.0)
    return Case(passed, (array, x)) if variant == "argument" else Case(closed, (x,))
