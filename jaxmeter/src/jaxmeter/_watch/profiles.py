"""At the end of a process, compile its slowest functions again under the compile profiler."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from jaxmeter._compile.profile import compile_profile
from jaxmeter._measure.case import Case
from jaxmeter._retrace.watch import Seen


class Slowest:
    """The functions that took longest to compile, with the arguments of their slowest compiles.

    Only the shapes and dtypes of arrays are kept.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._kept: dict[tuple[str, str], tuple[float, Case]] = {}

    def offer(self, seen: Seen) -> None:
        """Keep a compile if it is not JAX's own, its arguments are known and it is slow enough."""
        call = seen.call
        if call is None or call.signature is None or seen.explanation.kind == "JAX's own":
            return
        key = seen.group.name, seen.group.defined
        if key in self._kept and seen.seconds <= self._kept[key][0]:
            return
        args, kwargs = jax.tree.map(_without_values, (call.args, dict(call.kwargs)))
        numbers, names = call.static
        options = {"static_argnums": tuple(numbers), "static_argnames": tuple(names)}
        options = {name: value for name, value in options.items() if value}
        self._kept[key] = seen.seconds, Case(call.fn, args, kwargs, jit_options=options)
        if len(self._kept) > self._count:
            del self._kept[min(self._kept, key=lambda key: self._kept[key][0])]

    def forget(self) -> None:
        """Remove all functions.

        This method is called in the child of a fork. The child has no threads of XLA, so the child
        cannot compile the functions.
        """
        self._kept.clear()

    def profile(self, write: Callable[..., None]) -> None:
        """Profile the compile of each function that was kept, and write the profiles as events."""
        began = time.perf_counter()
        for (name, _), (_, case) in sorted(self._kept.items(), key=lambda item: -item[1][0]):
            try:
                write("profile", profile=compile_profile(case).to_json())
            except Exception as error:
                write("problem", text=f"{name} could not be profiled: {error!r:.200}")
        self._kept.clear()
        write("profiled", seconds=time.perf_counter() - began)


def _without_values(leaf: Any) -> Any:
    if isinstance(leaf, (jax.Array, np.ndarray)):
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype)
    return leaf
