"""Retraces, and what was watched, as text, and as sheets of tables."""

from __future__ import annotations

from jaxmeter._records.retraces import Retraces, TracedCall, Watched, WatchedFunction
from jaxmeter._render.audit import place_text
from jaxmeter._render.sheet import Code, Lines, Sheet, Table
from jaxmeter._render.units import count_text, seconds_text

_CALLS_SHOWN_COUNT = 20
_CAUSES_SHOWN_COUNT = 4
_PLACES_SHOWN_COUNT = 3


def retraces_table(retraces: Retraces) -> str:
    """The calls that were traced or compiled, each with its causes, and what to change."""
    rows = [_headline(retraces)]
    again = [call for call in retraces.calls if call.traced or call.compiled]
    for call in again[:_CALLS_SHOWN_COUNT]:
        rows.append(f"  call {call.number}  {_did(call)}, {seconds_text(call.seconds)}")
        rows += [f"    {line}" for line in _causes(call)]
    if len(again) > _CALLS_SHOWN_COUNT:
        rows.append(f"  and {len(again) - _CALLS_SHOWN_COUNT} more")
    return "\n".join(rows + _advice(retraces.advice))


def retraces_sheet(retraces: Retraces) -> Sheet:
    """A table of all calls."""
    calls = Table(
        ("call:", "what JAX did", "seconds:", "nearest call:", "cause"),
        tuple(
            (
                str(call.number),
                _did(call),
                f"{call.seconds:.3g}",
                "" if call.nearest is None else str(call.nearest),
                Lines(tuple(Code(str(cause)) for cause in call.causes)),
            )
            for call in retraces.calls
        ),
    )
    return Sheet(_headline(retraces), tables=(calls,), advice=retraces.advice)


def watched_table(watched: Watched) -> str:
    """Each function with its counts, the lines that called it, the causes, and what to change."""
    rows = [_watched_headline(watched)]
    own = [function for function in watched.functions if not function.is_jax]
    for function in own:
        defined = f" {place_text(function.defined)}" if function.defined else ""
        rows.append(f"  {function.name}{defined}  {_counts(function)}")
        places = function.places
        rows += [
            f"    {place_text(f'{place.file}:{place.line}')} in {place.function}: {place.text}"
            for place in places[:_PLACES_SHOWN_COUNT]
        ]
        if len(places) > _PLACES_SHOWN_COUNT:
            rows.append(f"    and {len(places) - _PLACES_SHOWN_COUNT} more lines")
        rows += [f"    {cause}" for cause in function.causes[:_CAUSES_SHOWN_COUNT]]
        if len(function.causes) > _CAUSES_SHOWN_COUNT:
            rows.append(f"    and {len(function.causes) - _CAUSES_SHOWN_COUNT} more causes")
    rest = [function for function in watched.functions if function.is_jax]
    if rest:
        seconds = sum(function.trace_seconds + function.compile_seconds for function in rest)
        rows.append(
            f"  of JAX itself: {count_text(len(rest), 'function')}, "
            f"{count_text(sum(f.compiles_count for f in rest), 'compile')}, {seconds_text(seconds)}"
        )
    return "\n".join(rows + _advice(watched.advice))


def watched_sheet(watched: Watched) -> Sheet:
    """A table of all functions."""
    columns = ("function", "defined", "traces:", "compiles:", "seconds:", "objects:")
    functions = Table(
        (*columns, "lines", "causes"),
        tuple(
            (
                Code(told.name),
                Code(place_text(told.defined)),
                str(told.traces_count),
                str(told.compiles_count),
                f"{told.trace_seconds + told.compile_seconds:.3g}",
                str(told.objects_count or ""),
                Lines(tuple(Code(place_text(f"{p.file}:{p.line}")) for p in told.places)),
                Lines(tuple(Code(str(cause)) for cause in told.causes)),
            )
            for told in watched.functions
        ),
    )
    return Sheet(_watched_headline(watched), tables=(functions,), advice=watched.advice)


def causes_text(call: TracedCall) -> str:
    """One line: what happened in a call, and why."""
    return "; ".join([f"call {call.number} {_did(call)}", *map(str, call.causes)])


def _headline(retraces: Retraces) -> str:
    return (
        f"{retraces.name}: {count_text(len(retraces.calls), 'call')}, "
        f"{count_text(retraces.traces_count, 'trace')}, "
        f"{count_text(retraces.compiles_count, 'compile')}" + _hits(retraces.cache_hits_count)
    )


def _watched_headline(watched: Watched) -> str:
    return (
        f"{count_text(watched.traces_count, 'trace')}, "
        f"{count_text(watched.compiles_count, 'compile')}"
        + _hits(watched.cache_hits_count)
        + f" of {count_text(len(watched.functions), 'function')}"
    )


def _hits(count: int) -> str:
    return f", {count} from the persistent cache" if count else ""


def _did(call: TracedCall) -> str:
    done = ["traced"] if call.traced else []
    if call.compiles_count:
        done.append("compiled")
    if call.cache_hits_count:
        done.append("taken from the persistent cache")
    return " and ".join(done) or "ran"


def _causes(call: TracedCall) -> list[str]:
    shown = [str(cause) for cause in call.causes[:_CAUSES_SHOWN_COUNT]]
    if shown:
        shown[0] += f" (as against call {call.nearest})"
    if len(call.causes) > len(shown):
        shown.append(f"and {len(call.causes) - len(shown)} more differences")
    return shown


def _counts(function: WatchedFunction) -> str:
    parts = [
        count_text(function.traces_count, "trace"),
        count_text(function.compiles_count, "compile") + _hits(function.cache_hits_count),
        seconds_text(function.trace_seconds + function.compile_seconds),
    ]
    if function.objects_count is not None and function.objects_count > 1:
        parts.insert(1, f"{function.objects_count} function objects")
    return ", ".join(parts)


def _advice(advice: tuple[str, ...]) -> list[str]:
    return ["to change:", *(f"  - {line}" for line in advice)] if advice else []
