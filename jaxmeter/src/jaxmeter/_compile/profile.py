"""Profile the tracing, lowering and compiling of a function."""

from __future__ import annotations

import linecache
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import jax

from jaxmeter._capture.constants import captured_values
from jaxmeter._capture.folding import foldings
from jaxmeter._compile.advice import advice
from jaxmeter._compile.attribute import Kernels, Origin, compile_rows, rows_of
from jaxmeter._compile.record import record_compile
from jaxmeter._compile.stages import stage_seconds
from jaxmeter._compile.trace_lines import Equations, Sampler
from jaxmeter._measure.case import Case, case_of, name_of
from jaxmeter._measure.failures import beginning_in_users_code
from jaxmeter._measure.staging import fresh, prepared, trace
from jaxmeter._program.places import author_place
from jaxmeter._records.compile import CompiledLine, CompileProfile, CompileRow, Stage


@beginning_in_users_code
def compile_profile(fn: Case | Callable[..., Any], *args: Any, **kwargs: Any) -> CompileProfile:
    """Trace, lower and compile a function once, and return the time of each source line.

    The function is not run, and the persistent cache is not used. On CPU, the profile also has the
    time of each kernel. On other backends, one unattributed row contains the time of all kernels.

    Parameters
    ----------
    fn : Case or callable
        The function, jitted or not, or a `Case`, which may have options for `jax.jit`. The cache of
        a function that is already jitted is cleared.
    *args, **kwargs : Any
        The arguments of the function. Arrays may be replaced by `jax.ShapeDtypeStruct`.

    Returns
    -------
    CompileProfile
        The seconds of ``rows`` sum to the elapsed time. ``lines`` and ``kernels`` give the seconds
        by line and by kernel. In the first profile of a process, tracing often takes longer than in
        later profiles, because JAX caches the traces of jitted functions, including JAX's
        own functions.

    Raises
    ------
    JaxmeterError
        If ``fn``, its arguments or its jit options cannot be used.
    FileError
        If no temporary folder can be made.
    RuntimeError
        If a trace of `jax.profiler` is running.
    Exception
        Any exception that is raised while the function is traced or compiled.
    """
    case = case_of("compile_profile", fn, args, kwargs)
    name, case = name_of(case.fn), prepared(case)
    jitted, _ = fresh(case)
    sampler = Sampler()
    start = time.perf_counter()
    with sampler.sampling():
        traced = trace("compile_profile", jitted, case)
    traced_at = time.perf_counter()
    jaxpr, lowered = traced.jaxpr, traced.lower()
    lowered_at = time.perf_counter()
    equations = Equations(jaxpr)
    recording = record_compile(lowered)
    stages = stage_seconds(recording)
    kernels = Kernels(recording.compiled.as_text() or "", recording.before, equations)
    folded = foldings(jaxpr, captured_values(jaxpr), 0.0)
    rows = [
        *_trace_rows(sampler, equations, traced_at - start),
        *_rows_by_equations("lower", equations, lowered_at - traced_at),
        *compile_rows(stages, kernels, folded),
    ]
    rows.sort(key=lambda row: -row.seconds)
    known = dict.fromkeys(name for _, name in stages.seconds if name)
    described = sorted(
        (kernels.described(name, stages.seconds) for name in known),
        key=lambda kernel: -kernel.seconds,
    )
    lines = _lines(rows, equations, kernels, known)
    return CompileProfile(
        name=name,
        jax=jax.__version__,
        backend=jax.default_backend(),
        trace_seconds=traced_at - start,
        lower_seconds=lowered_at - traced_at,
        compile_seconds=recording.seconds,
        rows=tuple(rows),
        lines=lines,
        kernels=tuple(described),
        passes=dict(sorted(stages.passes.items(), key=lambda item: -item[1])),
        stacks=_stacks(equations, sampler),
        advice=advice(rows, described, equations, jaxpr),
        unpaired_kernels_count=stages.unpaired_count,
    )


def _trace_rows(sampler: Sampler, equations: Equations, seconds: float) -> list[CompileRow]:
    """Return the rows of the trace: the sampled time of each line. The times are scaled so that
    their sum is ``seconds``. If there are no samples, ``seconds`` are divided among the lines in
    proportion to their numbers of equations."""
    total = sum(sampler.stacks.values())
    if not total:
        return _rows_by_equations("trace", equations, seconds)
    shares: dict[Origin, float] = defaultdict(float)
    for stack, spent in sampler.stacks.items():
        place = author_place(stack)
        shares[Origin("" if place is None else place.source, "", "")] += spent / total
    return rows_of("trace", seconds, shares, "measured")


def _rows_by_equations(stage: Stage, equations: Equations, seconds: float) -> list[CompileRow]:
    total = sum(equations.counts.values())
    shares: dict[Origin, float] = defaultdict(float)
    for (called, _), count in equations.counts.items():
        shares[Origin(called.author, "", "")] += count / total
    return rows_of(stage, seconds, shares, "by equations")


def _lines(
    rows: Iterable[CompileRow], equations: Equations, kernels: Kernels, names: Iterable[str]
) -> tuple[CompiledLine, ...]:
    spent: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for row in rows:
        if row.source:
            spent[row.source][row.stage] += row.seconds
            if row.stage not in ("trace", "lower"):
                spent[row.source]["compile"] += row.seconds
    counts: Counter[str] = Counter()
    for (called, _), count in equations.counts.items():
        counts[called.author] += count
    inside: Counter[str] = Counter()
    with_line: Counter[str] = Counter()
    for name in names:
        shares: dict[str, float] = defaultdict(float)
        for origin, share in kernels.shares(name).items():
            shares[origin.source] += share * len(kernels.inside(name))
        inside.update({source: round(count) for source, count in shares.items()})
        with_line.update(shares.keys())
    functions = {
        place.source: place.function
        for places in equations.stacks.values()
        for place in reversed(places)
    }
    lines = [
        CompiledLine(
            source=source,
            function=functions.get(source, ""),
            text=_text(source),
            trace_seconds=seconds["trace"],
            lower_seconds=seconds["lower"],
            compile_seconds=seconds["compile"],
            folding_seconds=seconds["constant folding"],
            equations_count=counts[source],
            kernels_count=with_line[source],
            instructions_count=inside[source],
        )
        for source, seconds in spent.items()
    ]
    return tuple(sorted(lines, key=lambda line: -line.seconds))


def _text(source: str) -> str:
    file, _, line = source.rpartition(":")
    return linecache.getline(file, int(line)).strip()


def _stacks(equations: Equations, sampler: Sampler) -> dict[str, tuple[str, ...]]:
    """Return the chain of calls that leads to each source line, the outermost call first."""
    found: dict[str, tuple[str, ...]] = {}
    for places in (*equations.stacks.values(), *sampler.stacks):
        author = author_place(places)
        if author is not None:
            outer = reversed(places[places.index(author) :])
            calls = tuple(f"{place.function} {place.source}" for place in outer)
            found.setdefault(author.source, calls)
    return found
