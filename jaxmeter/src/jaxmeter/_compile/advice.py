"""Suggest changes that are known to make a compile faster, with the seconds that they may save."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from jaxmeter._compile.trace_lines import Equations
from jaxmeter._program.jaxprs import every_equation, inner
from jaxmeter._program.places import places_of_equation
from jaxmeter._records.compile import CompileAdvice, CompiledKernel, CompileRow

Spent = dict[str, float]
"""Seconds by source line."""
LEAST_SHARE = 0.05
"""Advice that may save less than this share of the total time is left out."""
_REPEATS_COUNT = 8
_OPERANDS_COUNT = 8
_BRANCHES_COUNT = 8
_SMALL_KERNELS_COUNT = 10
_SMALL_INSTRUCTIONS_COUNT = 2


def advice(
    rows: list[CompileRow],
    kernels: Iterable[CompiledKernel],
    equations: Equations,
    closed_jaxpr: Any,
) -> tuple[CompileAdvice, ...]:
    """Return the suggestions that apply, the largest possible saving first. If several rules apply
    to a source line, the line gets only the suggestion of the most specific rule."""
    total = sum(row.seconds for row in rows)
    spent: Spent = defaultdict(float)
    for row in rows:
        spent[row.source] += row.seconds
    # Leave out the kernels of a line if most of the line's equations come from a package's loop
    # over the leaves of a pytree, as in an optimizer.
    kernels = [kernel for kernel in kernels if kernel.source not in equations.leafwise]
    found = [
        *_foldings(rows),
        *_repeated_bodies(closed_jaxpr, spent, equations),
        *_stacks(equations, spent),
        *_unrolled(equations, kernels, spent),
        *_small_kernels(kernels),
    ]
    best: dict[str, CompileAdvice] = {}
    for one in found:  # the most specific advice comes first and is kept
        if one.seconds >= LEAST_SHARE * total:
            best.setdefault(one.source, one)
    return tuple(sorted(best.values(), key=lambda one: -one.seconds))


def _foldings(rows: list[CompileRow]) -> Iterator[CompileAdvice]:
    seconds: dict[tuple[str, str], float] = defaultdict(float)
    for row in rows:
        if row.stage == "constant folding" and row.source:
            seconds[row.source, row.primitive] += row.seconds
    for (source, primitive), spent in seconds.items():
        text = (
            f"compute {primitive} once, before the call, and pass the result as an argument: the "
            "compiler evaluates operations on captured arrays with a slow interpreter"
        )
        yield CompileAdvice("constant folding", text, source, spent)


def _repeated_bodies(jaxpr: Any, spent: Spent, equations: Equations) -> Iterator[CompileAdvice]:
    """Yield advice for each ``cond`` or ``switch`` with the same primitives in many branches."""
    for equation in every_equation(jaxpr, set()):
        branches = equation.params.get("branches", ())
        if equation.primitive.name != "cond" or len(branches) < _BRANCHES_COUNT:
            continue
        kinds = {tuple(e.primitive.name for e in inner(branch).eqns) for branch in branches}
        if len(kinds) > len(branches) / 4:
            continue
        inside = {
            equations.author([place.source for place in places])
            for branch in branches
            for part in every_equation(branch, set())
            if (places := places_of_equation(part))
        }
        if not inside:
            continue
        seconds = sum(spent[source] for source in inside)
        same = "the same operations"
        if len(kinds) > 1:
            same = f"only {len(kinds)} different lists of operations"
        text = (
            f"{len(branches)} branches have {same}, and each branch is compiled: use one body for "
            "branches with the same operations, and read the values that vary between them from an "
            "array, such as table[index]"
        )
        source = max(inside, key=lambda source: spent[source])
        yield CompileAdvice(
            "repeated bodies", text, source, seconds * (1 - len(kinds) / len(branches))
        )


def _stacks(equations: Equations, spent: Spent) -> Iterator[CompileAdvice]:
    for (_, line), operands in equations.concatenated.items():
        if operands < _OPERANDS_COUNT or not line:
            continue
        text = (
            f"at least {operands} arrays are stacked or concatenated, and each array becomes a "
            "separate kernel or loop: compute the arrays as one array, with broadcasting or "
            "jax.vmap"
        )
        yield CompileAdvice("stacked components", text, line, spent[line] * (1 - 1 / operands))


def _unrolled(
    equations: Equations, kernels: list[CompiledKernel], spent: Spent
) -> Iterator[CompileAdvice]:
    """Yield advice for each line that has many kernels and also many equations of one primitive.

    A long chain of equations that becomes one kernel gets no advice, because it compiles faster
    than a loop. Equations from a package's loop over the leaves of a pytree are not counted. The
    equations of each line of a package are counted separately, because a function of a package may
    contain many lines with the same primitive.
    """
    kernels_count = Counter(kernel.source for kernel in kernels)
    by_line: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for (called, primitive), count in equations.counts.items():
        if called.line not in equations.over_leaves:
            by_line[called.author][called.line, primitive] += count
    for source, counts in by_line.items():
        ((_, primitive), most), *_ = counts.most_common(1)
        if min(most, kernels_count[source]) < _REPEATS_COUNT:
            continue
        text = (
            f"{most} {primitive} equations come from this line: if a Python loop repeats the line, "
            "use one operation on all the data. You can also use jax.lax.scan, jax.lax.fori_loop "
            "or jax.vmap, which trace and compile the body of the loop once"
        )
        yield CompileAdvice("unrolled loop", text, source, spent[source] * (1 - 1 / most))


def _small_kernels(kernels: list[CompiledKernel]) -> Iterator[CompileAdvice]:
    by_source: dict[str, list[CompiledKernel]] = defaultdict(list)
    for kernel in kernels:
        if kernel.instructions_count <= _SMALL_INSTRUCTIONS_COUNT and kernel.source:
            by_source[kernel.source].append(kernel)
    for source, small in by_source.items():
        if len(small) < _SMALL_KERNELS_COUNT:
            continue
        text = (
            f"this line became {len(small)} kernels of one or two instructions, and each kernel "
            "has a fixed cost: compute the results with one array operation"
        )
        saved = sum(kernel.seconds for kernel in small) * (1 - 1 / len(small))
        yield CompileAdvice("small kernels", text, source, saved)
