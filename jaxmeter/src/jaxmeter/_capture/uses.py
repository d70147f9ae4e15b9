"""Find the source lines that use a program's captured arrays."""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterator, Sequence
from typing import Any

from jaxmeter._capture.constants import closed_over, identity
from jaxmeter._program.jaxprs import inner, scan_counts, sub_jaxprs
from jaxmeter._program.places import Place, author_place, places_of_equation
from jaxmeter._records.audit import Use

_DEFINED = re.compile(r"(?P<function>.*?) at (?P<file>.*):(?P<line>\d+)")
_DECORATORS_LINES_COUNT_LIMIT = 50


def uses_of(closed_jaxpr: Any, wanted: Collection[Hashable]) -> dict[Hashable, tuple[Use, ...]]:
    """Return a dictionary from the `identity` of each wanted array to the lines that use the array,
    in the order of the program.

    Arrays for which no line is found are left out. If an array is passed unchanged into a loop, a
    branch or a rematerialised function, the inner line that uses the array is returned.
    """
    found: dict[Hashable, dict[Use, None]] = {}
    for key, use in _walk(closed_jaxpr, {}, wanted, set(), []):
        found.setdefault(key, {})[use] = None
    return {key: tuple(uses) for key, uses in found.items()}


def _walk(
    jaxpr: Any,
    known: dict[Any, Hashable],
    wanted: Collection[Hashable],
    seen: set[Hashable],
    outer: list[Place],
) -> Iterator[tuple[Hashable, Use]]:
    """Yield the key of each wanted array with each line that uses the array, also in sub-jaxprs.
    ``known`` contains the variables of ``jaxpr`` that stand for wanted arrays, with their keys.
    ``outer`` contains the places of the equation that has ``jaxpr``."""
    body = inner(jaxpr)
    own = {variable: identity(array) for variable, array in closed_over(jaxpr)}
    keys = known | {variable: key for variable, key in own.items() if key in wanted}
    mark = (id(body), frozenset(keys.items()), author_place(outer))
    if mark in seen:
        return
    seen.add(mark)

    def key_at(atom: Any) -> Hashable | None:
        if not hasattr(atom, "val"):
            return keys.get(atom)
        key = identity(atom.val) if hasattr(atom.val, "shape") else None
        return key if key in wanted else None

    for equation in body.eqns:
        used = {index: key_at(atom) for index, atom in enumerate(equation.invars)}
        used = {index: key for index, key in used.items() if key is not None}
        carried: set[int] = set()
        places = places_of_equation(equation, outer)
        for sub, operands in passed_operands(equation):
            if equation.primitive.name == "jit":
                # For an array that is passed to a jitted function, report the line that passes the
                # array. The lines inside the function belong to its first trace, which another
                # call may have caused.
                operands = range(0)
            passed = {
                variable: used[index]
                for variable, index in zip(inner(sub).invars, operands, strict=False)
                if index in used
            }
            carried |= {index for index in operands if index in used}
            yield from _walk(sub, passed, wanted, seen, places)
        direct = {key for index, key in used.items() if index not in carried}
        use = use_at(places) if direct else None
        if use is not None:
            yield from ((key, use) for key in direct)
    for atom in body.outvars:
        key, use = key_at(atom), _returned(body)
        if key is not None and use is not None:
            yield key, use


def passed_operands(equation: Any) -> Iterator[tuple[Any, range]]:
    """Yield each sub-jaxpr of an equation with the indices of operands. The equation passes these
    operands unchanged as the first variables of the sub-jaxpr."""
    name, params, count = equation.primitive.name, equation.params, len(equation.invars)
    for sub in sub_jaxprs(equation):
        if name == "scan":
            yield sub, range(scan_counts(params)[0])  # the other operands are sliced or carried
        elif name == "cond":
            yield sub, range(1, count)
        elif name == "while":
            tests, bodies = params["cond_nconsts"], params["body_nconsts"]
            is_test = sub is params["cond_jaxpr"]
            yield sub, range(tests) if is_test else range(tests, tests + bodies)
        else:  # jit, remat, shard_map, custom_jvp_call and similar
            yield sub, range(count) if len(inner(sub).invars) == count else range(0)


def use_at(places: Sequence[Place]) -> Use | None:
    """Return the source line of an equation with these places; None if there are no places. The
    line is the innermost call in the user's code. Without such a call, it is the innermost call in
    a package."""
    place = author_place(places)
    if place is None:
        return None
    within = "" if place == places[0] else places[0].source
    return Use(*place, place.text, "used", within)


def _returned(jaxpr: Any) -> Use | None:
    """Return the line that defines the function of a jaxpr; None if JAX does not report the line.
    If the function returns a captured array directly, this line counts as the use of the array."""
    information = getattr(jaxpr, "debug_info", None)
    match = _DEFINED.fullmatch(getattr(information, "func_src_info", None) or "")
    if match is None:
        return None
    place = Place(match["file"], int(match["line"]), match["function"])
    if place.text.startswith("@"):  # the first line of the function is a decorator
        lines = range(place.line, place.line + _DECORATORS_LINES_COUNT_LIMIT)
        candidates = (place._replace(line=line) for line in lines)
        found = (one for one in candidates if one.text.startswith(("def ", "async def ")))
        place = next(found, place)
    return Use(*place, place.text, "returned")
