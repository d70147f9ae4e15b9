"""Evaluate points or rows of targets in groups that run in parallel on CPUs.

XLA divides single operations among the processors. The operations of a tile (`vcjax._options`) are
too small for this.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import wraps
from typing import Any, NamedTuple

import jax
import numpy as np

from vcjax._geometry.nodes import on_host
from vcjax._programs.compiled import (
    ONE_THREAD,
    QUICK,
    available_processors,
    compiled,
    enable_x64,
    is_tracing,
)
from vcjax._quadrature.rule import Rule

_LEAST_GROUP = 64
"""Least number of points in a group, not counting the copies that fill it up. Only the last group
may have fewer points."""
_GROUP = 1024
"""Number of points in one call of the program, including the copies that fill up the group. On
several devices and inside a transformation of JAX, there are no groups of points."""
_GROUP_BYTES = 2**25
"""Largest number of bytes that the near weights of one group of target rows may take, if the group
has more than one row; see `row_groups`. The weights of a group stay in memory until they have been
copied to the result for all rows. Smaller groups would take longer: with two processors, each group
costs a few milliseconds."""
_UNEQUAL = 1.05
"""Factor by which the rows of one processor may exceed an equal share of all rows."""
_SETTINGS = (
    "debug_infs",
    "debug_nans",
    "default_device",
    "default_matmul_precision",
    "disable_jit",
    "numpy_dtype_promotion",
    "threefry_partitionable",
)
"""Settings of JAX that a context manager changes in the calling thread only. The threads that
evaluate groups get the same settings. With different settings, JAX would compile a program
again."""


def in_groups(evaluate: Callable, points: np.ndarray) -> Any:
    """Evaluate points in groups of equal size, so that one program serves any number of points.

    Each group is filled up to this size with copies of its last point. On CPUs the groups run in
    parallel, each on one processor. ``evaluate(group, used=count)`` gets a group (`_GROUP`, 3), of
    which the first `count` points are used. It returns a tuple of arrays with one entry for each
    point.
    """
    count, processors = len(points), processor_count()
    turns = -(-count // (processors * _GROUP))
    most = min(_GROUP, max(-(-count // (processors * turns)), _LEAST_GROUP))

    def one_group(first):
        group = points[first : first + most]
        filled = np.pad(group, ((0, _GROUP - len(group)), (0, 0)), mode="edge")
        filled, used = jax.device_put((filled, np.asarray(len(group))))
        return evaluate(filled, used=used)

    return _joined(one_group, count, most, processors)


class RowGroups(NamedTuple):
    """Groups of consecutive target rows: the number of all rows, and the number of rows in a group.

    The last group may have fewer rows.
    """

    rows: int
    each: int


def row_groups(rule: Rule, devices: Any, *values: Any, row_bytes: int = 0) -> RowGroups | None:
    """Return the groups into which target rows are divided, or None if they are not divided.

    `values` are pytrees of arrays that the groups use. Rows are not divided inside a transformation
    of JAX, on accelerators, or if `devices` is given. They are also not divided if an array in
    `values` is stored on several devices or in another process. `row_bytes` is the size of the
    result of one row, in bytes. On several processors, it limits the number of rows in a group: the
    result of a group of two or more rows has at most `_GROUP_BYTES` bytes. If `row_bytes` is 0,
    there is no such limit.
    """
    concrete = on_host(*values) and not is_tracing()
    is_cpu = jax.default_backend() == "cpu" and devices is None
    if not concrete or not is_cpu or not _on_one_device(*values):
        return None
    rows, processors = rule.trg_shape[0], processor_count()
    each = -(-rows // processors)
    if processors > 1 and row_bytes:
        most = min(each, max(1, _GROUP_BYTES // row_bytes))
        # Take the largest size with which no processor evaluates many more rows than necessary.
        each = next(
            n for n in range(most, 0, -1) if -(-rows // (n * processors)) * n <= _UNEQUAL * each
        )
    return RowGroups(rows, each)


def by_rows(static_argnums: tuple[int, ...]) -> Callable[[Callable], Callable]:
    """Return a decorator that compiles a function of target rows and evaluates it in groups.

    The function is called as ``function(rows, ...)``; its results have the rows as their first
    axis. The decorated function is called with the result of `row_groups` in place of `rows`.
    If this result is None, ``function(None, ...)`` is called once.
    """

    def decorator(function: Callable) -> Callable:
        whole = compiled(QUICK, static_argnums)(function)
        part = compiled(ONE_THREAD, static_argnums)(function)

        @wraps(function)
        def call(groups: RowGroups | None, *args):
            if groups is None:
                return whole(None, *args)
            count, each = groups

            def one_group(first):
                # The last group is filled up with copies of the last row.
                rows = np.minimum(np.arange(first, first + each), count - 1)
                return part(jax.device_put(rows), *args)

            if each == count:
                return one_group(0)
            return _joined(one_group, count, each, processor_count())

        return call

    return decorator


def _on_one_device(*values: Any) -> bool:
    arrays = (leaf for leaf in jax.tree.leaves(values) if isinstance(leaf, jax.Array))
    return all(len(array.sharding.device_set) == 1 for array in arrays)


def _joined(one_group: Callable, count: int, each: int, processors: int) -> Any:
    """Evaluate groups of entries (points or target rows), and join their results along axis 0.

    Results are joined on the host: a slice or `jnp.asarray` on the device would compile a program
    for each number of entries. `count` is the number of all entries, and `each` is the number of
    entries in a group. `one_group` is called with the index of a group's first entry. It returns a
    pytree of JAX arrays with `each` entries or more.
    """
    settings = {name: getattr(jax.config, f"jax_{name}") for name in _SETTINGS}
    # This call compiles the program, and returns before the group is evaluated.
    found = one_group(0)
    joined = jax.tree.map(lambda v: _empty((count, *v.shape[1:]), v.dtype), found)
    # Results are committed to a device if an argument is committed to it.
    places = jax.tree.map(lambda v: v.sharding if v.committed else None, found)

    def keep(first, results):
        def copy(into, values):
            into = into[first : first + each]
            into[:] = np.asarray(values)[: len(into)]

        jax.tree.map(copy, joined, results)

    def in_thread(first):
        with ExitStack() as stack:
            stack.enter_context(enable_x64(True))
            for name, value in settings.items():
                stack.enter_context(getattr(jax, name)(value))
            keep(first, one_group(first))

    def in_this_thread(groups):
        # All programs start before the first result is copied.
        for first, results in [(first, one_group(first)) for first in groups]:
            keep(first, results)

    others = range(each, count, each)
    if processors == 1:
        keep(0, found)
        in_this_thread(others)
    else:
        # If one thread started all programs, JAX would run them one after the other.
        pool = ThreadPoolExecutor(processors)
        try:
            calls = [pool.submit(keep, 0, found)]
            del found  # so that its memory is free as soon as it has been copied
            calls += [pool.submit(in_thread, first) for first in others]
        except RuntimeError:  # no thread starts while the interpreter ends
            calls = []
            in_this_thread((0, *others))
        try:
            for call in calls:
                call.result()
        finally:
            pool.shutdown(cancel_futures=True)
    return jax.tree.map(jax.device_put, joined, places)


def _empty(shape: tuple[int, ...], dtype) -> np.ndarray:
    """Return an uninitialised array whose memory JAX can use without a copy.

    JAX requires that the memory begins at a multiple of 64 bytes.
    """
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.empty(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size].view(dtype).reshape(shape)


def processor_count() -> int:
    """Return the number of processors among which groups are divided; 1 on accelerators."""
    return available_processors() if jax.default_backend() == "cpu" else 1
