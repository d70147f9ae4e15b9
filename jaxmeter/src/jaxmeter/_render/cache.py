"""Describe how much compile time a persistent cache saves, and which settings to use."""

from __future__ import annotations

from jaxmeter._records.cache import CacheDiagnosis
from jaxmeter._render.sheet import Code, Row, Sheet, Table
from jaxmeter._render.units import bytes_text, count_text, place_text, seconds_text

_THRESHOLDS_SECONDS = (1.0, 0.3, 0.1, 0.0)
"""Values to try for JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS. The first value is the default."""
_ENOUGH_SHARE = 0.95


def cache_sheet(found: CacheDiagnosis) -> Sheet:
    """Describe the saved time, the effect of several values of the minimum compile time, and the
    programs that the second run did not read from the cache. After a failed run, describe only the
    failure."""
    code = f"exit code {found.exit_code}"
    if found.second_seconds is None:
        return Sheet(f"the program failed, with {code}, and was not run a second time", False)
    if not found.programs:
        return Sheet(f"the program compiled nothing ({code})")
    if found.exit_code:
        return Sheet(f"the program succeeded once, and failed in its second run with {code}", False)
    hits = [one for one in found.programs if one.is_hit]
    seconds = {one.id: one.compile_seconds or 0.0 for one in hits}
    thresholds, chosen = [], 0.0
    for least in _THRESHOLDS_SECONDS:
        kept = [value for value in seconds.values() if value >= least]
        thresholds.append(Row(f"{least:g}", str(len(kept)), seconds_text(sum(kept) or None)))
        # In another run, a compile may take half the time. Count only compiles that take at least
        # twice the minimum.
        sure = sum(value for value in kept if value >= 2 * least)
        if not chosen and sure >= _ENOUGH_SHARE * sum(seconds.values()):
            chosen = least
    missed = [
        Row(Code(one.id), Code(place_text(one.line)), seconds_text(one.again_seconds), one.reason)
        for one in found.programs
        if not one.is_hit
    ]
    tables = (
        Table(
            ("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS:", "programs kept:", "compile time:"),
            thresholds,
        ),
        Table(("not in the cache", "line", "compile:", "why"), missed, limit=10),
    )
    saved = f"{seconds_text(found.saved_seconds)} of" if hits else "no"
    headline = (
        f"a persistent cache saves {saved} compile time: "
        f"{seconds_text(found.first_compile_seconds)} in the first run, "
        f"{seconds_text(found.second_compile_seconds)} in the second, with "
        f"{len(hits)} of {count_text(len(found.programs), 'program')} read from the cache"
    )
    notes = [
        f"the first run took {seconds_text(found.first_seconds)} and the second "
        f"{seconds_text(found.second_seconds)}; both runs traced and lowered every program, "
        "because the cache contains only compiled programs",
        f"the cache has {bytes_text(found.stored_bytes)} in "
        f"{count_text(found.stored_count, 'program')}",
        f"JAX_COMPILATION_CACHE_DIR is {'' if found.is_set else 'not '}set in this environment; "
        "programs that take less than 1 s to compile are not kept by default",
    ]
    if found.sets_options:
        notes.append(
            "the program sets options of the cache in its code; these options override the "
            "environment, so change them in the code"
        )
    settings = (
        "export JAX_COMPILATION_CACHE_DIR=$HOME/.cache/jax",
        f"export JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS={chosen:g}",
    )
    is_advised = hits and not found.sets_options
    return Sheet(headline, None, tables, tuple(notes), settings if is_advised else ())
