"""Retraces, and what was watched, as text: for the terminal, and in Markdown."""

from __future__ import annotations

from jaxmeter.audit_text import code, place_text
from jaxmeter.retrace_record import Retraces, TracedCall, Watched, WatchedFunction
from jaxmeter.units import count_text, seconds_text

_CALLS_SHOWN_COUNT = 20
_CAUSES_SHOWN_COUNT = 4
_PLACES_SHOWN_COUNT = 3


def retraces_table(retraces: Retraces) -> str:
    """The calls that were traced or compiled, each with its causes, and what to change."""
    rows = [_headline(retraces)]
    anew = [call for call in retraces.calls if call.traced or call.compiled]
    for call in anew[:_CALLS_SHOWN_COUNT]:
        rows.append(f"  call {call.number}  {_did(call)}, {seconds_text(call.seconds)}")
        rows += [f"    {line}" for line in _causes(call)]
    if len(anew) > _CALLS_SHOWN_COUNT:
        rows.append(f"  and {len(anew) - _CALLS_SHOWN_COUNT} more")
    return "\n".join(rows + _advice(retraces.advice))


def retraces_markdown(retraces: Retraces) -> str:
    """The same as a Markdown table of all calls."""
    rows = [f"### {_headline(retraces)}", ""]
    rows += ["| call | what JAX did | seconds | nearest call | cause |"]
    rows += ["| ---: | --- | ---: | ---: | --- |"]
    for call in retraces.calls:
        nearest = "" if call.nearest is None else call.nearest
        causes = "<br>".join(code(str(cause)) for cause in call.causes)
        rows.append(f"| {call.number} | {_did(call)} | {call.seconds:.3g} | {nearest} | {causes} |")
    return "\n".join(rows + _advice(retraces.advice, blank=True))


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


def watched_markdown(watched: Watched) -> str:
    """The same as a Markdown table of all functions."""
    rows = [f"### {_watched_headline(watched)}", ""]
    rows += ["| function | defined | traces | compiles | seconds | objects | lines | causes |"]
    rows += ["| --- | --- | ---: | ---: | ---: | ---: | --- | --- |"]
    for told in watched.functions:
        lines = "<br>".join(code(place_text(f"{p.file}:{p.line}")) for p in told.places)
        causes = "<br>".join(code(str(cause)) for cause in told.causes)
        seconds = told.trace_seconds + told.compile_seconds
        rows.append(
            f"| {code(told.name)} | {code(place_text(told.defined))} | {told.traces_count} "
            f"| {told.compiles_count} | {seconds:.3g} | {told.objects_count or ''} | {lines} "
            f"| {causes} |"
        )
    return "\n".join(rows + _advice(watched.advice, blank=True))


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


def _advice(advice: tuple[str, ...], blank: bool = False) -> list[str]:
    if not advice:
        return []
    if blank:
        return ["", "To change:", "", *(f"- {line}" for line in advice)]
    return ["to change:", *(f"  - {line}" for line in advice)]
