"""Evaluate any number of points with one program, in groups that run in parallel on CPUs."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import numpy as np

from vcjax._compiled import enable_x64

_LEAST_GROUP = 64
"""Least number of points in groups that run in parallel, except the last group."""
_GROUP = 1024
"""Number of points in one call of the program, except on many devices and inside a transformation
of JAX."""


def in_groups(evaluate: Callable, points: np.ndarray) -> Any:
    """Evaluate points in groups of equal size, so that one program serves any number of points.

    A group is filled up with copies of its last point. On CPUs the groups run in parallel, each on
    one processor: the loops of the program are too small to share.

    Parameters
    ----------
    evaluate : called as ``evaluate(group, used=count)`` with a group (`_GROUP`, 3), of which the
        first `count` points are used. It returns a tuple of arrays with one entry for each point.
    points : (n, 3)
    """
    count, processors = len(points), _processors()
    turns = -(-count // (processors * _GROUP))
    most = min(_GROUP, max(-(-count // (processors * turns)), _LEAST_GROUP))

    def one_group(first):
        group = points[first : first + most]
        filled = np.pad(group, ((0, _GROUP - len(group)), (0, 0)), mode="edge")
        return evaluate(filled, used=np.asarray(len(group)))

    def in_thread(first):
        with enable_x64(True):  # a setting of this thread
            return jax.block_until_ready(one_group(first))

    # The call for the first group compiles the program, and returns before the group is evaluated.
    found, others = [one_group(0)], range(most, count, most)
    if processors == 1:
        found += map(one_group, others)
    else:
        with ThreadPoolExecutor(processors) as pool:
            found += pool.map(in_thread, others)

    def joined(*groups):
        return np.concatenate([np.asarray(group)[:most] for group in groups])[:count]

    # Concatenate on the host: a slice or `jnp.asarray` on the device would compile a program for
    # each number of points.
    return jax.device_put(jax.tree.map(joined, *found))


def _processors() -> int:
    """Return the number of processors among which groups of points are divided.

    It is 1 on accelerators, and if a default device is set, which other threads would not use.
    """
    device = jax.config.jax_default_device  # pyright: ignore[reportAttributeAccessIssue]
    if jax.default_backend() != "cpu" or device is not None:
        return 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
