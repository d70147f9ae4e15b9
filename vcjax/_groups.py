"""Evaluate points or rows of targets in groups that run in parallel on CPUs.

XLA divides single operations among the processors. The operations of a tile are too small for this.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from typing import Any

import jax
import numpy as np

from vcjax._compiled import ONE_MODULE, ONE_MODULE_ONE_THREAD, compiled, enable_x64, is_tracing
from vcjax._geometry.nodes import on_host

_LEAST_GROUP = 64
"""Least number of points in groups that run in parallel, except the last group."""
_GROUP = 1024
"""Number of points in one call of the program, except on many devices and inside a transformation
of JAX."""


def in_groups(evaluate: Callable, points: np.ndarray) -> Any:
    """Evaluate points in groups of equal size, so that one program serves any number of points.

    A group is filled up with copies of its last point. On CPUs the groups run in parallel, each on
    one processor.

    Parameters
    ----------
    evaluate : called as ``evaluate(group, used=count)`` with a group (`_GROUP`, 3), of which the
        first `count` points are used. It returns a tuple of arrays with one entry for each point.
    points : (n, 3)
    """
    count, processors = len(points), processor_count()
    turns = -(-count // (processors * _GROUP))
    most = min(_GROUP, max(-(-count // (processors * turns)), _LEAST_GROUP))

    def one_group(first):
        group = points[first : first + most]
        filled = np.pad(group, ((0, _GROUP - len(group)), (0, 0)), mode="edge")
        return evaluate(filled, used=np.asarray(len(group)))

    found = _in_parallel(one_group, range(0, count, most), processors)
    found = [jax.tree.map(lambda v: np.asarray(v)[:most], group) for group in found]
    return _joined(found, count)


def row_groups(casing: Any, *values: Any) -> list[np.ndarray]:
    """Divide the target rows of a casing into groups of equal size, at most one for each processor.

    The last group is filled up with copies of the last row. The list is empty if the rows are not
    divided: inside a transformation of JAX, on accelerators, with `devices`, or if the casing or a
    value is divided over several devices.
    """
    concrete = on_host(casing, *values) and not is_tracing()
    is_cpu = jax.default_backend() == "cpu" and casing.devices is None
    if not concrete or not is_cpu or not _on_one_device(casing, *values):
        return []
    count = casing.rule.trg_shape[0]
    each = -(-count // processor_count())
    rows = [np.arange(first, first + each) for first in range(0, count, each)]
    return [np.minimum(group, count - 1) for group in rows]


def by_rows(static_argnums: tuple[int, ...]) -> Callable[[Callable], Callable]:
    """Return a decorator that compiles a function of target rows and evaluates it in groups.

    The function is called as ``function(rows, casing, ...)``; its results have the rows as their
    first axis. The decorated function is called with the result of `row_groups` in place of `rows`.
    Without groups, it calls the function with None in place of the rows.
    """

    def decorator(function: Callable) -> Callable:
        whole = compiled(ONE_MODULE, static_argnums)(function)
        part = compiled(ONE_MODULE_ONE_THREAD, static_argnums)(function)

        @wraps(function)
        def call(groups: Sequence[np.ndarray], casing, *args):
            def one_group(rows):
                return part(jax.device_put(rows), casing, *args)

            if not groups:
                return whole(None, casing, *args)
            if len(groups) == 1:
                return one_group(groups[0])
            found = _in_parallel(one_group, groups, len(groups))
            joined = _joined(found, casing.rule.trg_shape[0])
            # The result of one program is committed to a device if an argument is.
            return jax.device_put(joined, found[0].sharding) if found[0].committed else joined

        return call

    return decorator


def _on_one_device(*values: Any) -> bool:
    arrays = (leaf for leaf in jax.tree.leaves(values) if isinstance(leaf, jax.Array))
    return all(len(array.sharding.device_set) == 1 for array in arrays)


def _in_parallel(one_group: Callable, groups: Sequence[Any], processors: int) -> list[Any]:
    """Call a function for the first group, and for the others in as many threads as processors."""
    device = jax.config.jax_default_device  # pyright: ignore[reportAttributeAccessIssue]

    def in_thread(group):
        with enable_x64(True), jax.default_device(device):  # settings of this thread
            return jax.block_until_ready(one_group(group))

    # The call for the first group compiles the program, and returns before the group is evaluated.
    found, others = [one_group(groups[0])], groups[1:]
    if processors == 1:
        return found + [one_group(group) for group in others]
    with ThreadPoolExecutor(processors) as pool:
        try:
            calls = [pool.submit(in_thread, group) for group in others]
        except RuntimeError:  # no thread starts while the interpreter ends
            return found + [one_group(group) for group in others]
        return found + [call.result() for call in calls]


def _joined(groups: Sequence[Any], count: int) -> Any:
    """Concatenate the results of groups along their first axis, and keep the first `count`.

    Arrays are joined on the host: a slice or `jnp.asarray` on the device would compile a program
    for each number of points.
    """

    def joined(*parts):
        return np.concatenate([np.asarray(part) for part in parts])[:count]

    return jax.device_put(jax.tree.map(joined, *groups))


def processor_count() -> int:
    """Return the number of processors among which groups are divided; 1 on accelerators."""
    if jax.default_backend() != "cpu":
        return 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
