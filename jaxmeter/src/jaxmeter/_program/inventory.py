"""List the operations of a program, and compare the operations of two programs."""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jax

from jaxmeter._capture.constants import count_constants
from jaxmeter._compare.answers import captured_fingerprint
from jaxmeter._measure.accounting import compiler_account
from jaxmeter._measure.case import Case, case_of, name_of
from jaxmeter._measure.failures import beginning_in_users_code
from jaxmeter._measure.staging import staged
from jaxmeter._program.hlo import MOVING_OPCODES, Instruction, bodies, instructions
from jaxmeter._program.jaxprs import every_equation
from jaxmeter._program.places import Place, author_place, places_of_equation
from jaxmeter._program.program import describe_program
from jaxmeter._records.inventory import (
    Change,
    Fusion,
    FusionChange,
    Inventory,
    LineChange,
    ProgramDiff,
    SourceLine,
)
from jaxmeter._records.record import Memory, Record
from jaxmeter._render.units import count_text
from jaxmeter.errors import JaxmeterError


@beginning_in_users_code
def inventory(fn: Case | Callable[..., Any], *args: Any, **kwargs: Any) -> Inventory:
    """Compile a function and return the operations of its program; the function is not run.

    Parameters
    ----------
    fn : Case, callable or jax.stages.Compiled
        The function, jitted or not; a case, which may have jit options; or a compiled program. For
        a compiled program, the quantities that need the jaxpr are not known.
    *args, **kwargs : Any
        The arguments of the function. Arrays may be replaced by `jax.ShapeDtypeStruct`.

    Raises
    ------
    JaxmeterError
        If ``fn``, an argument or a jit option cannot be used, or if arguments are given with a case
        or a compiled program.
    Exception
        Any exception that is raised while the function is traced or compiled.
    """
    if isinstance(fn, jax.stages.Compiled):
        if args or kwargs:
            raise JaxmeterError(
                "inventory: got a compiled program and "
                f"{count_text(len(args) + len(kwargs), 'argument')}; leave the arguments out"
            )
        return _inventory("compiled", fn)
    case = case_of("inventory", fn, args, kwargs)
    jaxpr, lowered = staged(case, "inventory")
    return _inventory(name_of(case.fn), lowered.compile(), jaxpr, lowered)


def _inventory(
    name: str, compiled: jax.stages.Compiled, jaxpr: Any = None, lowered: Any = None
) -> Inventory:
    found: dict[str, Any] = {}
    if jaxpr is not None:
        found["constants"] = dataclasses.replace(
            count_constants(jaxpr, lowered), captured_fingerprint=captured_fingerprint(jaxpr)
        )
        equations = list(every_equation(jaxpr))
        primitives = Counter(equation.primitive.name for equation in equations)
        found["primitives"] = dict(sorted(primitives.items()))
        found["lines"] = _source_lines(equations)
    text = compiled.as_text()
    if text:  # some backends keep no HLO
        every = list(instructions(text))
        arrays = Counter(part.shape for part in every if part.opcode == "constant")
        found["opcodes"] = dict(sorted(Counter(part.opcode for part in every).items()))
        found["arrays"] = {
            shape: count for shape, count in sorted(arrays.items()) if not shape.endswith("[]")
        }
        found["fusions"] = tuple(_fusions(every))
    return Inventory(
        name=name,
        jax=jax.__version__,
        program=describe_program(jaxpr, compiled),
        memory=Memory(**compiler_account(compiled)),
        **found,
    )


def _source_lines(equations: list[Any]) -> tuple[SourceLine, ...]:
    counts: Counter[Place] = Counter()
    sizes: Counter[Place] = Counter()
    for equation in equations:
        place = author_place(places_of_equation(equation))
        if place is not None:
            counts[place] += 1
            # Tokens and references have no size; PRNG keys have no plain dtype.
            sizes[place] += sum(
                one.aval.size * getattr(one.aval.dtype, "itemsize", 0)
                for one in equation.outvars
                if hasattr(one.aval, "dtype") and hasattr(one.aval, "size")
            )
    return tuple(
        SourceLine(
            _in_package(place.file),
            place.line,
            place.function.rpartition(".")[2],
            place.text,
            count,
            sizes[place],
        )
        for place, count in counts.items()
    )


@functools.cache
def _in_package(file: str) -> str:
    """Return the path of a file relative to the folder that contains its outermost package. If the
    file is not in a package, return only the file name."""
    path = Path(file)
    folder = path.parent
    while (folder / "__init__.py").is_file():
        folder = folder.parent
    return path.relative_to(folder).as_posix()


def _fusions(every: list[Instruction]) -> Iterator[Fusion]:
    inside = bodies(every)
    for fusion in every:
        if fusion.opcode == "fusion":
            operations = tuple(
                f"{part.opcode} {part.op_name}".strip()
                for part in inside.get(fusion.calls, ())
                if part.opcode not in MOVING_OPCODES
            )
            yield Fusion(fusion.fusion_kind, fusion.shape, operations)


Source = Inventory | Record | Case | Callable[..., Any]
"""A program: an inventory, a record, a compiled program (`jax.stages.Compiled`), a case or a
function."""


def diff(before: Source, now: Source, *args: Any, **kwargs: Any) -> ProgramDiff:
    """Return the differences between two programs.

    Parameters
    ----------
    before, now : Inventory, Record, Case, callable or jax.stages.Compiled
        The programs. A record gives only sizes, fingerprints and the version of JAX.
    *args, **kwargs : Any
        The arguments for the programs that are given as callables.

    Raises
    ------
    JaxmeterError
        If a program, an argument or a jit option cannot be used, or if arguments are given although
        no program is a callable.
    Exception
        Any exception that is raised while a function is traced or compiled.
    """
    described = (Inventory, Record, Case, jax.stages.Compiled)
    if (args or kwargs) and isinstance(before, described) and isinstance(now, described):
        given = count_text(len(args) + len(kwargs), "argument")
        raise JaxmeterError(
            f"diff: got {given}, but neither program is a function; leave the arguments out"
        )
    a, b = (_described(program, args, kwargs) for program in (before, now))
    same = _equal(a.program.hlo_fingerprint, b.program.hlo_fingerprint)
    values = _equal(a.constants.captured_fingerprint, b.constants.captured_fingerprint)
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
        lines=() if same else _line_changes(a.lines, b.lines),
        versions=None if a.jax == b.jax else (a.jax, b.jax),
    )


def _equal(a: str | None, b: str | None) -> bool | None:
    return None if a is None or b is None else a == b


def _described(program: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Inventory:
    if isinstance(program, Inventory):
        return program
    if isinstance(program, Record):
        version = "" if program.environment is None else program.environment.jax or ""
        return Inventory(program.name, version, program.program, program.memory, program.constants)
    if isinstance(program, (Case, jax.stages.Compiled)):
        return inventory(program)
    if not callable(program):
        raise JaxmeterError(
            f"diff: got {program!r:.80}; give a function, a Case, a compiled program, an "
            "Inventory or a Record"
        )
    return inventory(program, *args, **kwargs)


def _sizes(found: Inventory) -> dict[str, float | None]:
    program, memory, constants = found.program, found.memory, found.constants
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


def _line_changes(
    before: tuple[SourceLine, ...] | None, now: tuple[SourceLine, ...] | None
) -> tuple[LineChange, ...]:
    if before is None or now is None:
        return ()
    sides = [_by_text(lines) for lines in (before, now)]
    changes = [LineChange(*(side.get(key) for side in sides)) for key in sides[1] | sides[0]]
    differing = [one for one in changes if one.equations_change or one.bytes_change]

    def order(one: LineChange) -> tuple[bool, bool, int, int]:
        # New lines come first, then lost lines, then lines that both programs have. An edited line
        # counts as a lost line and a new line.
        is_lost, is_new = one.now is None, one.before is None
        sizes = -abs(one.bytes_change), -abs(one.equations_change)
        return (not (is_lost or is_new), is_lost, *sizes)

    return tuple(sorted(differing, key=order))


def _by_text(lines: tuple[SourceLine, ...]) -> dict[tuple[str, str, str], SourceLine]:
    """Return the source lines by file, function and text. Add up the counts of equal lines."""
    found: dict[tuple[str, str, str], SourceLine] = {}
    for line in lines:
        key = (line.file, line.function, line.text)
        known = found.get(key)
        if known is not None:
            line = dataclasses.replace(
                known,
                equations_count=known.equations_count + line.equations_count,
                result_bytes=known.result_bytes + line.result_bytes,
            )
        found[key] = line
    return found


def _fusion_changes(before: tuple[Fusion, ...], now: tuple[Fusion, ...]) -> Iterator[FusionChange]:
    old, new = Counter(before), Counter(now)
    vanished, appeared = list((old - new).elements()), list((new - old).elements())
    for fusion in list(vanished):
        # Two fusions that differ only in the op_names of their operations count as equal.
        match = next((one for one in appeared if _operations(one) == _operations(fusion)), None)
        if match is not None:
            vanished.remove(fusion)
            appeared.remove(match)
    # Fusions that share an operation, directly or through other fusions, belong to one change.
    groups: list[tuple[set[str], tuple[Fusion, ...], tuple[Fusion, ...]]] = []
    sides = [((fusion,), ()) for fusion in vanished] + [((), (fusion,)) for fusion in appeared]
    for removed, added in sides:
        operations = {name for fusion in (*removed, *added) for name in fusion.operations}
        separate = []
        for other in groups:
            if other[0] & operations:
                operations = operations | other[0]
                removed, added = (*other[1], *removed), (*other[2], *added)
            else:
                separate.append(other)
        groups = [*separate, (operations, removed, added)]
    for _, removed, added in groups:
        yield FusionChange(_kind_of_change(len(removed), len(added)), removed, added)


def _operations(fusion: Fusion) -> tuple[str, str, list[str]]:
    opcodes = [operation.partition(" ")[0] for operation in fusion.operations]
    return fusion.kind, fusion.shape, opcodes


def _kind_of_change(removed: int, added: int) -> Any:
    if not removed or not added:
        return "vanished" if removed else "appeared"
    if removed == 1:
        return "changed" if added == 1 else "split"
    return "merged" if added == 1 else "regrouped"
