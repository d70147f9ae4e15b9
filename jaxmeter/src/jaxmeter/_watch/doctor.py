"""Run a program twice with one persistent cache; find misses and the time that the cache saves."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from jaxmeter._records.cache import CacheDiagnosis, CachedProgram
from jaxmeter._records.run import RunCompile, WatchedRun
from jaxmeter._watch.launch import watch_program

_FOLDER_OPTION = "JAX_COMPILATION_CACHE_DIR"


def diagnose_cache(command: Sequence[str], folder: Path) -> CacheDiagnosis:
    """Run a program twice with a new persistent cache, and return the times and the cache misses.

    Environment variables set the cache to keep every compiled program. If the first run fails,
    there is no second run. The cache and the events of both runs are written to ``folder``, which
    must be empty.
    """
    cache = folder / "cache"
    variables = {
        _FOLDER_OPTION: str(cache),
        "JAX_ENABLE_COMPILATION_CACHE": "true",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "JAXMETER_WATCH_KEYS": "1",  # keep a hash of each part of a cache key
    }
    first = watch_program(command, folder / "first", variables=variables, call="cache")
    sizes = [file.stat().st_size for file in cache.glob("*-cache")]
    second = None
    if not first.exit_code:
        second = watch_program(command, folder / "second", variables=variables, call="cache")
    return CacheDiagnosis(
        command=first.command,
        exit_code=first.exit_code if second is None else second.exit_code,
        first_seconds=first.seconds,
        second_seconds=None if second is None else second.seconds,
        first_compile_seconds=_compile_seconds(first),
        second_compile_seconds=0.0 if second is None else _compile_seconds(second),
        stored_bytes=sum(sizes),
        stored_count=len(sizes),
        programs=() if second is None else _programs(first, second),
        is_set=bool(os.environ.get(_FOLDER_OPTION)),
        sets_options=any(_shows_other_options(one, len(sizes)) for one in first.compiles),
    )


def _shows_other_options(one: RunCompile, stored_count: int) -> bool:
    """Return whether a compile shows that the program itself sets options of the cache."""
    is_elsewhere = stored_count == 0 and one.cache in ("hit", "written")
    return is_elsewhere or one.cache_reason.startswith(("jax_", "it took <", "its size"))


def _compile_seconds(run: WatchedRun) -> float:
    return sum(one.stage_seconds("compile") for one in run.compiles)


def _programs(first: WatchedRun, second: WatchedRun) -> tuple[CachedProgram, ...]:
    before, now = ({one.id: one for one in run.compiles if one.cache} for run in (first, second))
    found = []
    for id, one in (before | now).items():
        old, new = before.get(id), now.get(id)
        is_hit = new is not None and new.cache == "hit"
        found.append(
            CachedProgram(
                id=id,
                line="" if one.author is None else one.author.source,
                compile_seconds=None if old is None else old.stage_seconds("compile"),
                again_seconds=None if new is None else new.stage_seconds("compile"),
                is_hit=is_hit,
                reason="" if is_hit else _reason(old, new),
            )
        )
    found.sort(key=lambda one: -max(one.compile_seconds or 0.0, one.again_seconds or 0.0))
    return tuple(found)


def _reason(old: RunCompile | None, new: RunCompile | None) -> str:
    if new is None:
        return "the second run did not compile this program"
    if new.cache in ("off", "not written"):
        return new.cache_reason
    if old is None:
        return "the first run did not compile this program"
    parts, others = old.cache_key_parts, new.cache_key_parts
    changed = [name for name in parts if others.get(name, parts[name]) != parts[name]]
    if not changed and old.cache in ("off", "not written"):
        return f"the first run did not write this program to the cache: {old.cache_reason}"
    if not changed and parts:
        return "not known: no part of the cache key changed"
    if not changed:
        return "not known: this version of JAX does not show the parts of the cache key"
    if changed == ["computation"]:
        return "the cache key changed, because the program itself differs from run to run"
    return f"the cache key changed in these parts: {', '.join(changed)}"
