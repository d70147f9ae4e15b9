"""What runs in a worker: a frame of the coronagraph, its arrays reached in one of several ways."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import jaxmeter
from benchmarks.cases.closure_variants import VARIANTS, Given, Program
from benchmarks.cases.quantities import WrongAnswer
from benchmarks.measuring.plan import SCRATCH_VARIABLE
from benchmarks.workloads import coronagraph
from benchmarks.workloads.coronagraph import Frame, Observation, RateMaps, System
from jaxmeter import Case

LARGEST_DIFFERENCE = 1e-5
"""Of a rate map to the argument variant's, relative to its maximum; single precision keeps it."""

PUBLISHED = ("closure", "argument")
SCRIPT_CALLS = 20


def preparation(*, size: int) -> Case:
    """A frame and the rate maps of a system built here; its check hands all on."""
    system, observation, key = coronagraph.system(size), coronagraph.observation(), _key()

    def frame_and_maps(system: System, observation: Observation, key: jax.Array):
        maps = coronagraph.rate_maps(system, observation)
        counts = system.detector.counts(maps.total, observation.exposure, key)
        return Frame(counts, maps.total), maps

    def check(answer: tuple[Frame, RateMaps]) -> dict[str, float]:
        path = _handed_on(size)
        if path is not None:
            np.savez(path, *map(np.asarray, jax.tree.leaves((system, *answer))))
        return {}

    return Case(frame_and_maps, (system, observation, key), check=check, extras=_sizes(system))


def frame(*, size: int, variant: str) -> Case:
    """A frame by one of `closure_variants.VARIANTS`; its check compares with the argument variant.

    Raises
    ------
    ValueError
        For an unknown variant, or "simplified" in a process started without its setting.
    """
    given, expected = _given(size)
    program = _program(variant, given)

    def check(answer: Frame) -> dict[str, float]:
        return _compared(answer, expected)

    return Case(program.function, program.arguments, check=check, extras=_sizes(given.system))


def frame_to_audit(variant: str, size: int) -> Case:
    """A frame whose system is built here, and whose known maps are dark: to look at, not to run."""
    dark = jnp.zeros((size, size), jnp.float32)
    maps = RateMaps(dark, dark, dark, dark)
    given = Given(coronagraph.system(size), coronagraph.observation(), _key(), maps)
    return Case(*VARIANTS[variant](given))


def changed(*, size: int, variant: str) -> Case:
    """A frame as in `frame`; its check then changes the cube and tells what that takes.

    Where the published table has the variant, it also times calls as a script would.
    """
    given, expected = _given(size)
    program = _program(variant, given)
    jitted = jax.jit(program.function)

    def check(answer: Frame) -> dict[str, float]:
        told = _compared(answer, expected) | _after_change(variant, given, program, jitted)
        return told | (_as_a_script(program) if variant in PUBLISHED else {})

    return Case(jitted, program.arguments, check=check, extras=_sizes(given.system))


def _after_change(
    variant: str, given: Given, program: Program, jitted: Callable[..., Frame]
) -> dict[str, float]:
    """What it takes until a frame follows a change of the cube, twice as bright.

    Where the cube is an argument the same program is called with the new one. Where that is not
    so, or the frame stays what it was, the variant is made again.
    """
    cube = given.system.coronagraph.cube
    brighter = jax.block_until_ready(2.0 * cube)
    arguments = jax.tree.map(lambda leaf: brighter if leaf is cube else leaf, program.arguments)
    before = jitted(*program.arguments).rate
    result, compiles, seconds = _watched(jitted, arguments)
    follows = not np.array_equal(before, result.rate)
    if not follows:
        system = eqx.tree_at(lambda s: s.coronagraph.cube, given.system, brighter)
        maps = jax.block_until_ready(jax.jit(coronagraph.rate_maps)(system, given.observation))
        again = VARIANTS[variant](given._replace(system=system, maps=maps))
        result, compiles, seconds = _watched(jax.jit(again.function), again.arguments)
        if np.array_equal(before, result.rate):
            raise WrongAnswer(f"{variant}: the frame does not follow a change of the cube")
    return {
        "change_compiles_count": compiles,
        "change_seconds": seconds,
        "change_follows_count": float(follows),
    }


def _as_a_script(program: Program) -> dict[str, float]:
    """Seconds of the call that compiles, ``script_call_00_seconds``, and of those right after it.

    No call is left out, as the meter does with those in which JAX and the allocator settle.
    """
    # A function that JAX has not seen, so that it is compiled.
    jitted = jax.jit(lambda *arguments: program.function(*arguments))
    told = {}
    for call in range(SCRIPT_CALLS + 1):
        start = time.perf_counter()
        jax.block_until_ready(jitted(*program.arguments))
        told[f"script_call_{call:02}_seconds"] = time.perf_counter() - start
    return told


def _watched(function: Callable[..., Frame], arguments: Any) -> tuple[Frame, int, float]:
    with jaxmeter.watch() as watched:
        start = time.perf_counter()
        result = jax.block_until_ready(function(*arguments))
        seconds = time.perf_counter() - start
    ours = [one for one in watched.report.functions if not one.is_jax]
    return result, sum(one.compiles_count for one in ours), seconds


def _program(variant: str, given: Given) -> Program:
    if variant not in VARIANTS:
        raise ValueError(f"frame got variant={variant!r}; give one of {', '.join(VARIANTS)}")
    simplified = bool(getattr(jax.config, "jax_use_simplified_jaxpr_constants", False))
    if (variant == "simplified") != simplified:
        raise ValueError(
            f"frame got variant={variant!r} in a process where simplified constants are "
            f"{'on' if simplified else 'off'}; set JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS in the "
            "case's env, which is read when JAX is imported"
        )
    return VARIANTS[variant](given)


def _given(size: int) -> tuple[Given, Frame]:
    """What the preparation handed on, and the frame to compare with; made here where it did not."""
    observation, key = coronagraph.observation(), _key()
    path = _handed_on(size)
    if path is not None and path.exists():
        # Leaves alone, and one by one: equinox keeps modules that were unpickled alive for ever.
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
    """Differences to the argument variant's frame, refused where rates differ by too much."""
    ours, theirs = np.asarray(answer.rate, float), np.asarray(expected.rate, float)
    difference = float(np.abs(ours - theirs).max() / theirs.max())
    if not difference <= LARGEST_DIFFERENCE:
        raise WrongAnswer(
            f"rates differ by {difference:.2e} of their maximum, limit {LARGEST_DIFFERENCE:.0e}"
        )
    differing = np.count_nonzero(np.asarray(answer.counts) != np.asarray(expected.counts))
    return {"rate_difference_relative": difference, "differing_pixels_count": float(differing)}


def _sizes(system: System) -> dict[str, float]:
    return {
        "system_bytes": float(sum(leaf.nbytes for leaf in jax.tree.leaves(system))),
        "cube_bytes": float(system.coronagraph.cube.nbytes),
    }


def _key() -> jax.Array:
    return jax.random.key(20)


def _handed_on(size: int) -> Path | None:
    scratch = os.environ.get(SCRATCH_VARIABLE)
    return Path(scratch) / f"coronagraph-{size}.npz" if scratch else None
