"""Describe the retraces in a sequence of calls, and the traces within a watched block."""

from __future__ import annotations

from jaxmeter._records.retraces import Place, Retraces, TracedCall, Watched, WatchedFunction
from jaxmeter._render.sheet import Code, Row, Sheet, Table, Text
from jaxmeter._render.units import count_text, place_text, seconds_text


def retraces_sheet(retraces: Retraces) -> Sheet:
    """Describe each call and the causes of its retrace.

    The calls that traced or compiled come first.
    """
    rows = [
        Row(
            str(call.number),
            _action(call),
            seconds_text(call.seconds),
            "" if call.nearest is None else f"call {call.nearest}",
            details=map(Code, call.causes),
        )
        for call in sorted(retraces.calls, key=lambda call: not (call.traced or call.compiled))
    ]
    calls = Table(("call:", "action", "time:", "compared with"), rows, details="differences")
    headline = f"{retraces.name}: {count_text(len(retraces.calls), 'call')}, {_counts(retraces)}"
    return Sheet(headline, tables=(calls,), suggestions=retraces.suggestions)


def watched_sheet(watched: Watched) -> Sheet:
    """Describe each watched function: its counts, the causes of its retraces, and the lines that
    called it."""
    own = [function for function in watched.functions if not function.is_jax]
    rest = [function for function in watched.functions if function.is_jax]
    seconds = sum(function.trace_seconds + function.compile_seconds for function in rest)
    title = (
        f"of JAX itself: {count_text(len(rest), 'function')}, "
        f"{count_text(sum(f.compiles_count for f in rest), 'compile')}, {seconds_text(seconds)}"
    )
    headline = f"{_counts(watched)} of {count_text(len(watched.functions), 'function')}"
    tables = _functions(own), _functions(rest, title, 0)
    return Sheet(headline, tables=tables, suggestions=watched.suggestions)


def _functions(functions: list[WatchedFunction], title: str = "", limit: int = 20) -> Table:
    rows = [
        Row(
            Code(function.name),
            Code(place_text(function.defined) if function.defined else ""),
            str(function.traces_count),
            str(function.objects_count or ""),
            str(function.compiles_count),
            str(function.cache_hits_count or ""),
            seconds_text(function.trace_seconds + function.compile_seconds),
            details=(*map(Code, function.causes), *map(_place, function.places)),
        )
        for function in functions
    ]
    columns = ("traces:", "function objects:", "compiles:", "from the cache:", "time:")
    details = "causes, and lines that called the function"
    return Table(("function", "defined", *columns), rows, title, details, limit, details_limit=7)


def _place(place: Place) -> Text:
    where = Code(place_text(f"{place.file}:{place.line}"))
    return where, f"in {place.function}:", Code(place.text)


def _counts(result: Retraces | Watched) -> str:
    hits = f", {result.cache_hits_count} from the persistent cache"
    return (
        f"{count_text(result.traces_count, 'trace')}, "
        f"{count_text(result.compiles_count, 'compile')}" + hits * bool(result.cache_hits_count)
    )


def _action(call: TracedCall) -> str:
    actions = ["traced"] if call.traced else []
    if call.compiles_count:
        actions.append("compiled")
    if call.cache_hits_count:
        actions.append("taken from the persistent cache")
    return " and ".join(actions) or "ran"
