"""Sum up the time that a program could save by compiling less."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from jaxmeter._records.run import RunCompile, Saving
from jaxmeter._render.units import place_text

_JIT_SUGGESTION = (
    "put the operations that run outside of jit into one jitted function; then only this function "
    "is compiled"
)
_CACHE_SUGGESTION = (
    "set JAX_COMPILATION_CACHE_DIR, and set JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS to less "
    "than its default of 1; measure the saving with jaxmeter cache"
)


def savings(compiles: Sequence[RunCompile]) -> tuple[Saving, ...]:
    """Return the changes that would save time, the largest saving first.

    If the persistent cache can save time in later runs, this saving is the last entry. The other
    entries are seconds of this run, and each compile counts in at most one of them.
    """
    again: dict[tuple[str, ...], list[RunCompile]] = defaultdict(list)
    outside: dict[str, list[RunCompile]] = defaultdict(list)
    for one in compiles:
        if one.why == "again":
            again[_kind(one)].append(one)
        elif one.is_jax:
            author = one.author
            place = place_text(author.source) if author else "lines that are not known"
            outside[place].append(one)
    found = [
        _saving("compiled again", f"{name}: {what}", group, suggestion)
        for (name, _, what, suggestion), group in again.items()
    ]
    found += [
        _saving("outside of jit", f"operations outside of jit at {place}", group, _JIT_SUGGESTION)
        for place, group in outside.items()
    ]
    found.sort(key=lambda one: -one.seconds)
    missed = [one for one in compiles if one.cache in ("off", "not written")]
    if missed:
        seconds = sum(one.stage_seconds("compile") for one in missed)
        what = "compiles that a later run could read from the persistent cache"
        found.append(Saving("persistent cache", what, seconds, len(missed), _CACHE_SUGGESTION))
    return tuple(found)


def _kind(one: RunCompile) -> tuple[str, ...]:
    if one.after_clearing:
        suggestion = "do not clear JAX's caches between calls of the same functions"
        return "functions called again", "", one.reason, suggestion
    if not one.causes:
        suggestion = (
            "look for caches that are cleared, and for static values that do not equal themselves"
        )
        return one.function, one.defined, one.reason, suggestion
    cause = one.causes[0]
    what = f"{cause.kind} of {cause.argument}" if cause.argument != one.function else cause.kind
    if cause.kind == "option":
        what = f"option {cause.argument}"
    return one.function, one.defined, what, cause.suggestion


def _saving(kind: Any, what: str, group: list[RunCompile], suggestion: str) -> Saving:
    compiled = [one for one in group if one.cache]  # compiled, or a cache hit
    seconds = sum(one.own_seconds for one in group)
    return Saving(kind, what, seconds, len(compiled), suggestion)
