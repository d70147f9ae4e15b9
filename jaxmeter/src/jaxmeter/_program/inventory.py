"""What a program is made of, and in what two programs differ."""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import jax

from jaxmeter._capture.constants import captured_fingerprint, count_constants
from jaxmeter._measure.accounting import compiler_account
from jaxmeter._measure.case import Case, case_of, name_of
from jaxmeter._measure.staging import staged
from jaxmeter._program.hlo import Instruction, instructions
from jaxmeter._program.jaxprs import inner, sub_jaxprs
from jaxmeter._program.program import describe_compiled, describe_program
from jaxmeter._records.inventory import Change, Fusion, FusionChange, Inventory, ProgramDiff
from jaxmeter._records.record import Memory, Record
from jaxmeter.errors import JaxmeterError

_MOVES = {"parameter", "constant", "bitcast", "tuple", "get-tuple-element", "broadcast", "copy"}
"""What moves or names data; the compiler adds and drops these at will."""


def inventory(fn: Case | Callable[..., Any], *args: Any, **kwargs: Any) -> Inventory:
    """What the program of a function is made of; it is compiled and not run.

    Parameters
    ----------
    fn : Case, callable or jax.stages.Compiled
        The function, jitted or not; a case, which may hold options of jit; or a program that is
        compiled already, of which no jaxpr is known.
    *args, **kwargs : Any
        Its arguments; arrays may be given as `jax.ShapeDtypeStruct`.

    Raises
    ------
    JaxmeterError
        If an argument is not of its kind.
    Exception
        Whatever tracing or compiling raises.
    """
    if isinstance(fn, jax.stages.Compiled):
        if args or kwargs:
            raise JaxmeterError("inventory: got arguments for a compiled program; leave them out")
        return _inventory("compiled", fn)
    case = case_of("inventory", fn, args, kwargs)
    program = staged(case)
    return _inventory(name_of(case.fn), program.lowered.compile(), program.jaxpr, program.lowered)


def _inventory(
    name: str, compiled: jax.stages.Compiled, jaxpr: Any = None, lowered: Any = None
) -> Inventory:
    found: dict[str, Any] = {}
    if jaxpr is not None:
        found["constants"] = dataclasses.replace(
            count_constants(jaxpr, lowered), captured_fingerprint=captured_fingerprint(jaxpr)
        )
        found["primitives"] = dict(sorted(Counter(_primitives(jaxpr)).items()))
    text = compiled.as_text()
    if text:  # some backends keep no HLO
        every = list(instructions(text))
        arrays = Counter(one.shape for one in every if one.opcode == "constant")
        found["opcodes"] = dict(sorted(Counter(one.opcode for one in every).items()))
        found["arrays"] = {
            shape: count for shape, count in sorted(arrays.items()) if not shape.endswith("[]")
        }
        found["fusions"] = tuple(_fusions(every))
    return Inventory(
        name=name,
        jax=jax.__version__,
        program=describe_compiled(compiled) if jaxpr is None else describe_program(jaxpr, compiled),
        memory=Memory(**compiler_account(compiled)),
        **found,
    )


def _primitives(jaxpr: Any) -> Iterator[str]:
    for equation in inner(jaxpr).eqns:
        yield equation.primitive.name
        for sub in sub_jaxprs(equation):
            yield from _primitives(sub)


def _fusions(every: Iterable[Instruction]) -> Iterator[Fusion]:
    bodies: dict[str, list[Instruction]] = defaultdict(list)
    for one in every:
        bodies[one.computation].append(one)
    for body in list(bodies.values()):
        for one in body:
            if one.opcode == "fusion":
                operations = tuple(
                    f"{part.opcode} {part.scope}".strip()
                    for part in bodies.get(one.calls, ())
                    if part.opcode not in _MOVES
                )
                yield Fusion(one.kind, one.shape, operations)


Source = Inventory | Record | Case | Callable[..., Any]
"""A program: described, measured, compiled (`jax.stages.Compiled`), or a function."""


def diff(before: Source, now: Source, *args: Any, **kwargs: Any) -> ProgramDiff:
    """In what two programs differ: what appeared, what vanished, which fusion split.

    Parameters
    ----------
    before, now : Inventory, Record, Case, callable or jax.stages.Compiled
        The programs. Of a record only sizes are known.
    *args, **kwargs : Any
        The arguments of those that are callables.

    Raises
    ------
    JaxmeterError
        If an argument is not of its kind.
    Exception
        Whatever tracing or compiling raises.
    """
    callables = [
        one
        for one in (before, now)
        if not isinstance(one, (Inventory, Record, Case, jax.stages.Compiled))
    ]
    if (args or kwargs) and not callables:
        raise JaxmeterError(
            f"diff: got {len(args) + len(kwargs)} more arguments but no function to give them to; "
            "leave them out"
        )
    a, b = (_described(one, args, kwargs) for one in (before, now))
    same = _equal(*(one.program.hlo_fingerprint for one in (a, b)))
    values = _equal(*(one.constants.captured_fingerprint for one in (a, b)))
    return ProgramDiff(
        before=a.name,
        now=b.name,
        same=same and values is not False,
        values=values,
        sizes=_changes(_sizes(a), _sizes(b)),
        primitives=_changes(a.primitives, b.primitives, absent=0),
        opcodes=_changes(a.opcodes, b.opcodes, absent=0),
        arrays=_changes(a.arrays, b.arrays, absent=0),
        fusions=()
        if a.fusions is None or b.fusions is None
        else tuple(_fusion_changes(a.fusions, b.fusions)),
        versions=None if a.jax == b.jax else (a.jax, b.jax),
    )


def _equal(a: str | None, b: str | None) -> bool | None:
    return None if a is None or b is None else a == b


def _described(one: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Inventory:
    if isinstance(one, Inventory):
        return one
    if isinstance(one, Record):
        version = "" if one.environment is None else one.environment.jax or ""
        return Inventory(one.name, version, one.program, one.memory, one.constants)
    if isinstance(one, (Case, jax.stages.Compiled)):
        return inventory(one)
    if not callable(one):
        raise JaxmeterError(
            f"diff: got {one!r:.80}; give a function, a Case, a compiled program, an Inventory or "
            "a Record"
        )
    return inventory(one, *args, **kwargs)


def _sizes(one: Inventory) -> dict[str, float | None]:
    program, memory, constants = one.program, one.memory, one.constants
    return {
        "jaxpr equations": program.jaxpr_equations_count,
        "HLO instructions": program.hlo_instructions_count,
        "fusions": program.fusions_count,
        "flops": program.flops,
        "accessed bytes": program.accessed_bytes,
        "argument bytes": memory.argument_bytes,
        "output bytes": memory.output_bytes,
        "temp bytes": memory.temp_bytes,
        "alias bytes": memory.alias_bytes,
        "captured bytes": constants.captured_bytes,
        "embedded bytes": constants.embedded_bytes,
    }


def _changes(
    before: Mapping[str, float | None] | None,
    now: Mapping[str, float | None] | None,
    absent: float | None = None,
) -> tuple[Change, ...]:
    if before is None or now is None:
        return ()
    names = dict.fromkeys((*before, *now))
    pairs = ((name, before.get(name, absent), now.get(name, absent)) for name in names)
    return tuple(
        Change(name, old, new)
        for name, old, new in pairs
        if old != new and old is not None and new is not None
    )


def _fusion_changes(before: tuple[Fusion, ...], now: tuple[Fusion, ...]) -> Iterator[FusionChange]:
    old, new = Counter(before), Counter(now)
    vanished, appeared = list((old - new).elements()), list((new - old).elements())
    for fusion in list(vanished):
        # The same operations, of other places.
        match = next((one for one in appeared if _operations(one) == _operations(fusion)), None)
        if match is not None:
            vanished.remove(fusion)
            appeared.remove(match)
    # Those that share an operation, by way of others perhaps, belong together.
    groups: list[tuple[set[str], tuple[Fusion, ...], tuple[Fusion, ...]]] = []
    sides = [((one,), ()) for one in vanished] + [((), (one,)) for one in appeared]
    for gone, come in sides:
        operations = {name for one in (*gone, *come) for name in one.operations}
        apart = []
        for other in groups:
            if other[0] & operations:
                operations = operations | other[0]
                gone, come = (*other[1], *gone), (*other[2], *come)
            else:
                apart.append(other)
        groups = [*apart, (operations, gone, come)]
    for _, gone, come in groups:
        yield FusionChange(_kind_of_change(len(gone), len(come)), gone, come)


def _operations(fusion: Fusion) -> tuple[str, str, list[str]]:
    opcodes = [operation.partition(" ")[0] for operation in fusion.operations]
    return fusion.kind, fusion.shape, opcodes


def _kind_of_change(gone: int, come: int) -> Any:
    match (min(gone, 2), min(come, 2)):
        case (0, _):
            return "appeared"
        case (_, 0):
            return "vanished"
        case (1, 1):
            return "changed"
        case (1, _):
            return "split"
        case (_, 1):
            return "merged"
        case _:
            return "regrouped"
