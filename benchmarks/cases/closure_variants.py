"""The ways in which a frame function can reach a system's arrays, each a function and arguments.

All compute the same frame. What differs is which arrays are arguments, and so whether the compiler
gets their shapes or their bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax

import jaxmeter
from benchmarks.workloads import coronagraph
from benchmarks.workloads.coronagraph import Frame, Observation, RateMaps, System


class Given(NamedTuple):
    """What every variant is made of."""

    system: System
    observation: Observation
    key: jax.Array
    maps: RateMaps
    """Of the system and observation."""


class Program(NamedTuple):
    """A function to jit and its arguments; calling it gives a frame."""

    function: Callable[..., Frame]
    arguments: tuple[Any, ...]


class Hidden(eqx.Module):
    """A callable that a pytree carries as metadata: passed along, yet no argument."""

    function: Callable = eqx.field(static=True)

    def __call__(self, *arguments: Any) -> Any:
        """What the hidden callable returns."""
        return self.function(*arguments)


def argument(given: Given) -> Program:
    """Everything is an argument."""
    return Program(coronagraph.frame, (given.system, given.observation, given.key))


def closure(given: Given) -> Program:
    """The system is closed over."""
    system = given.system

    def frame_of_system(observation: Observation, key: jax.Array) -> Frame:
        return coronagraph.frame(system, observation, key)

    return Program(frame_of_system, (given.observation, given.key))


def cached(given: Given) -> Program:
    """The rate maps of star and disk, computed before, are closed over; the system is passed."""
    known = {"star": given.maps.star, "disk": given.maps.disk}

    def frame_of_rest(system: System, observation: Observation, key: jax.Array) -> Frame:
        return coronagraph.frame(system, observation, key, known=known)

    return Program(frame_of_rest, (given.system, given.observation, given.key))


def hoisted(given: Given) -> Program:
    """The closure, its arrays made arguments by jaxmeter."""
    function, arguments = closure(given)
    function, constants = jaxmeter.hoist(function, *arguments)
    return Program(function, (constants, *arguments))


def static_callable(given: Given) -> Program:
    """The system is an argument, but two of its tables are reached by static callables: the
    off-axis images and the solution of Kepler's equation."""

    def tables(system: System) -> tuple[Any, ...]:
        return system.coronagraph.off_axis, system.planets.solve_kepler

    def hidden(table: Callable) -> Hidden:
        def look_up(*arguments: Any) -> Any:
            return table(*arguments)

        return Hidden(look_up)

    static = eqx.tree_at(tables, given.system, tuple(map(hidden, tables(given.system))))
    return argument(given._replace(system=static))


VARIANTS: dict[str, Callable[[Given], Program]] = {
    "closure": closure,
    "argument": argument,
    "cached": cached,
    # The closure too, in a process with JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS=1.
    "simplified": closure,
    "hoisted": hoisted,
    "static_callable": static_callable,
}
