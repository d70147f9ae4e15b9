"""Cases that compute a frame, which is an exposure of a simulated coronagraph.

All variants compute the same frame. They differ in how the program gets the coronagraph's arrays,
for example as arguments or as captured constants. The cases of `changed` also change an array and
measure the next frame.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import jaxmeter
from benchmarks.cases import variants
from benchmarks.cases.preparing import array_bytes, scratch_file, timed
from benchmarks.cases.quantities import WrongAnswer
from benchmarks.cases.variants import Hidden
from benchmarks.workloads import coronagraph
from benchmarks.workloads.coronagraph import Frame, Observation, RateMaps, System
from jaxmeter import Case

# Largest accepted difference between the rates of a variant and the rates of `preparation`,
# relative to the maximum rate. Rounding errors of single precision are smaller.
LARGEST_DIFFERENCE = 1e-5
PUBLISHED = ("closure", "argument")  # variants of the published measurement, docs/closure.md
SCRIPT_CALLS = 20


class Given(NamedTuple):
    """A system, its maps of photon rates, and the other inputs from which every variant is made."""

    system: System
    observation: Observation
    key: jax.Array
    maps: RateMaps


def preparation(*, size: int) -> Case:
    """Return the case that computes the frame and rate maps of a new system.

    The case's check stores the system, the frame and the maps for later workers of the run.
    """
    system, observation, key = coronagraph.system(size), coronagraph.observation(), _key()

    def frame_and_maps(system: System, observation: Observation, key: jax.Array):
        maps = coronagraph.rate_maps(system, observation)
        counts = system.detector.counts(maps.total, observation.exposure, key)
        return Frame(counts, maps.total), maps

    def check(answer: tuple[Frame, RateMaps]) -> dict[str, float]:
        path = _stored(size)
        if path is not None:
            np.savez(path, *map(np.asarray, jax.tree.leaves((system, *answer))))
        return {}

    return Case(frame_and_maps, (system, observation, key), check=check, extras=_sizes(system))


def frame(*, size: int, variant: str) -> Case:
    """Return the case that computes a frame with one of `VARIANTS`.

    The case's check compares the frame with the frame that `preparation` computes.
    """
    variants.check_variant("frame", variant, VARIANTS)
    given, expected = _given(size)

    def check(answer: Frame) -> dict[str, float]:
        return _compared(answer, expected)

    case = VARIANTS[variant](given)
    return dataclasses.replace(case, check=check, extras=_sizes(given.system))


def frame_to_audit(size: int) -> Case:
    """Return a case that computes a frame of a new system with the variant "static_callable".

    This variant does not use the rate maps of `Given`, so zeros replace the maps.
    """
    maps = RateMaps(*jnp.zeros((4, size, size), jnp.float32))
    given = Given(coronagraph.system(size), coronagraph.observation(), _key(), maps)
    return _static_callable(given)


def changed(*, size: int, variant: str) -> Case:
    """Return the case of `frame`, with a check that also measures a frame after a change.

    The check doubles all values in the cube of coronagraph images, and measures the next frame. For
    the variants in `PUBLISHED` ("closure" and "argument"), the check also times the calls of a
    simple script: a first call, which compiles, and `SCRIPT_CALLS` more calls.
    """
    variants.check_variant("changed", variant, VARIANTS)
    given, expected = _given(size)
    case = VARIANTS[variant](given)
    jitted = jax.jit(case.fn)

    def check(answer: Frame) -> dict[str, float]:
        results = _compared(answer, expected) | _after_change(variant, given, case, jitted)
        return results | (_as_a_script(case) if variant in PUBLISHED else {})

    return Case(jitted, case.args, check=check, extras=_sizes(given.system))


def _after_change(
    variant: str, given: Given, case: Case, jitted: Callable[..., Frame]
) -> dict[str, float]:
    """Double the cube of images; return the number of compiles and the seconds of the next frame.

    First `jitted` is called again. If the cube is an argument, this call gets the doubled cube. If
    the frame changes, ``change_follows_count`` is 1. Otherwise the program has captured the cube,
    or values computed from the cube. Then ``change_follows_count`` is 0, and the variant is made
    again: the compiles and seconds are those of the first call of the new program.
    """
    cube = given.system.coronagraph.cube
    brighter = jax.block_until_ready(2.0 * cube)
    arguments = jax.tree.map(lambda leaf: brighter if leaf is cube else leaf, case.args)
    before = jitted(*case.args).rate
    result, compiles, seconds = _watched(jitted, arguments)
    follows = not np.array_equal(before, result.rate)
    if not follows:
        system = eqx.tree_at(lambda s: s.coronagraph.cube, given.system, brighter)
        maps = jax.block_until_ready(jax.jit(coronagraph.rate_maps)(system, given.observation))
        again = VARIANTS[variant](given._replace(system=system, maps=maps))
        result, compiles, seconds = _watched(jax.jit(again.fn), again.args)
        if np.array_equal(before, result.rate):
            raise WrongAnswer(f"{variant}: the frame did not change when the cube was doubled")
    return {
        "change_compiles_count": compiles,
        "change_seconds": seconds,
        "change_follows_count": float(follows),
    }


def _as_a_script(case: Case) -> dict[str, float]:
    """Return the seconds of each call that a simple script makes.

    Call 0 compiles. The next calls are warm-up calls, which may be slower than later calls.
    """
    # A new function has no compiled program yet, so its first call compiles.
    jitted = jax.jit(lambda *arguments: case.fn(*arguments))
    seconds = {}
    for call in range(SCRIPT_CALLS + 1):
        seconds[f"script_call_{call:02}_seconds"], _ = timed(partial(jitted, *case.args))
    return seconds


def _watched(function: Callable[..., Frame], arguments: Any) -> tuple[Frame, int, float]:
    with jaxmeter.watch() as watched:
        seconds, result = timed(partial(function, *arguments))
    ours = [one for one in watched.report.functions if not one.is_jax]
    return result, sum(one.compiles_count for one in ours), seconds


def _given(size: int) -> tuple[Given, Frame]:
    """Return the inputs of every variant, and the expected frame.

    The system, the maps and the frame are read from the file that `preparation` stored, or computed
    if there is no file.
    """
    observation, key = coronagraph.observation(), _key()
    path = _stored(size)
    if path is not None and path.exists():
        # Load arrays, not a pickled system: equinox keeps unpickled modules alive for ever.
        with np.load(path) as file:
            *parts, counts, rate, star, planets, disk, zodi = map(jnp.asarray, file.values())
        system = jax.tree.unflatten(coronagraph.structure(), parts)
        expected, maps = Frame(counts, rate), RateMaps(star, planets, disk, zodi)
    else:
        case = preparation(size=size)
        system = case.args[0]
        expected, maps = jax.block_until_ready(jax.jit(case.fn)(*case.args))
    return Given(system, observation, key, maps), expected


def _compared(answer: Frame, expected: Frame) -> dict[str, float]:
    """Compare the rates and photon counts of two frames, and return the differences."""
    ours, theirs = np.asarray(answer.rate, float), np.asarray(expected.rate, float)
    difference = float(np.abs(ours - theirs).max() / theirs.max())
    if not difference <= LARGEST_DIFFERENCE:
        raise WrongAnswer(
            f"the rates differ from the expected rates by {difference:.2e} times the largest rate; "
            f"the limit is {LARGEST_DIFFERENCE:.0e}"
        )
    differing = np.count_nonzero(np.asarray(answer.counts) != np.asarray(expected.counts))
    return {"rate_difference_relative": difference, "differing_pixels_count": float(differing)}


def _sizes(system: System) -> dict[str, float]:
    return {
        "system_bytes": array_bytes(system),
        "cube_bytes": float(system.coronagraph.cube.nbytes),
    }


def _key() -> jax.Array:
    return jax.random.key(20)


def _stored(size: int):
    return scratch_file(f"coronagraph-{size}.npz")


def _argument(given: Given) -> Case:
    return Case(coronagraph.frame, (given.system, given.observation, given.key))


def _cached(given: Given) -> Case:
    """Return a case that captures the rate maps of star and disk; other arrays are arguments."""
    known = {"star": given.maps.star, "disk": given.maps.disk}

    def frame_of_rest(system: System, observation: Observation, key: jax.Array) -> Frame:
        return coronagraph.frame(system, observation, key, known=known)

    return Case(frame_of_rest, (given.system, given.observation, given.key))


def _static_callable(given: Given) -> Case:
    """Return a case with static callables that capture two tables; other arrays are arguments.

    The tables are the off-axis images and the solutions of Kepler's equation.
    """

    def tables(system: System) -> tuple[Any, ...]:
        return system.coronagraph.off_axis, system.planets.solve_kepler

    def hidden(table: Callable) -> Hidden:
        def look_up(*arguments: Any) -> Any:
            return table(*arguments)

        return Hidden(look_up)

    static = eqx.tree_at(tables, given.system, tuple(map(hidden, tables(given.system))))
    return _argument(given._replace(system=static))


VARIANTS: dict[str, Callable[[Given], Case]] = {
    "closure": lambda given: variants.closure(_argument(given)),
    "argument": _argument,
    "cached": _cached,
    # The program of "closure", in a process with JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS=1.
    "simplified": lambda given: variants.closure(_argument(given)),
    "hoisted": lambda given: variants.hoisted(_argument(given)),
    "static_callable": _static_callable,
}
