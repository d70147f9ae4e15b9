"""Make XLA dumps of programs without setting XLA_FLAGS, read dumps, and compare two dumps."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import pandas as pd

from jaxmeter._measure.accounting import compiler_account
from jaxmeter._measure.case import Case
from jaxmeter._measure.phases import no_persistent_cache
from jaxmeter._measure.staging import staged
from jaxmeter._program.hlo import module_name
from jaxmeter._records.argument_types import checking_types
from jaxmeter._records.files import TEXT_BYTES, file_errors, read_file
from jaxmeter._tables.schemas import frame
from jaxmeter.errors import JaxmeterError

_AFTER = re.compile(
    r"^(?P<stem>module_(?P<number>\d+)\.(?P<module>.+?))\.(?:(?:sm_\d+\.\d+[a-z]?_)?\w+_)?after_optimizations\.txt$"
)
_PASS = re.compile(
    r"^.+\.(?P<position>\d{4,})\.(?P<pipeline>.+)\.after_(?P<name>.+)\.before_.+\.txt$"
)


@dataclasses.dataclass(frozen=True)
class Dump:
    """An XLA dump of one program.

    Attributes
    ----------
    folder, module : the folder of the dump, and the name of the program.
    before : HLO text before any pass; empty if it was not dumped.
    after : HLO text after all passes.
    assignment : text of XLA's buffer assignment, including the list of values, which newer versions
        of XLA write to a separate file; empty if no assignment was dumped.
    passes : number, pipeline and name of each pass, and the file with the HLO after the pass, in
        the order of execution.
    analysed_temp_bytes : size of the temporaries in bytes, from `memory_analysis()`; None if JAX
        reports no size. Also None for a dump from `read_dump`: the files do not contain this size.
    """

    folder: Path
    module: str
    before: str
    after: str
    assignment: str
    passes: tuple[tuple[int, str, str, Path], ...]
    analysed_temp_bytes: int | None = None


@checking_types
def dump_program(
    program: Case | jax.stages.Lowered, folder: Path, *, by_pass: bool = False
) -> Dump:
    """Compile a program without the persistent cache, and return XLA's dump of it in a folder.

    Parameters
    ----------
    program : Case or jax.stages.Lowered
        A case, or ``jax.jit(f).lower(*args)``.
    folder : Path
        The folder for the dump. It must be empty or not exist, so that it contains only one dump.
    by_pass : bool
        Whether to dump the program after each pass that changed it.

    Raises
    ------
    JaxmeterError
        If the folder is not empty or cannot be written, if ``program`` cannot be used, or if the
        backend dumps nothing.
    Exception
        Any exception that is raised while the program is traced or compiled.
    """
    with file_errors("dump_program", folder, "give a folder that can be written"):
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise JaxmeterError(
                f"dump_program: got folder={str(folder)!r}, which is not empty; give a new folder"
            )
    if isinstance(program, Case):
        _, program = staged(program, "tables.dump_program")
    options: dict[str, str | bool] = {
        "xla_dump_to": str(folder.resolve()),
        # XLA_FLAGS may ask for other files, programs or names.
        "xla_dump_hlo_as_text": True,
        "xla_dump_hlo_module_re": ".*",
        "xla_dump_include_timestamp": False,
    }
    if by_pass:
        options["xla_dump_hlo_pass_re"] = ".*"
    with no_persistent_cache():  # for a program from the cache, XLA dumps only some of the files
        compiled = program.compile(compiler_options=options)
    temp_bytes = compiler_account(compiled)["temp_bytes"]
    return dataclasses.replace(read_dump(folder), analysed_temp_bytes=temp_bytes)


@checking_types
def hlo_of(case: Case) -> dict[str, str]:
    """Compile a case, and return a dictionary from the module's name to its optimised HLO text.

    The dictionary is empty if the backend does not give the text.

    Raises
    ------
    JaxmeterError
        If the case cannot be used.
    Exception
        Any exception that is raised while the case is traced or compiled.
    """
    _, lowered = staged(case, "tables.hlo_of")
    text = lowered.compile().as_text()
    return {module_name(text): text} if text else {}


@checking_types
def read_dump(folder: Path, module: str | None = None) -> Dump:
    """Read a dump made by `dump_program` or by ``XLA_FLAGS=--xla_dump_to=FOLDER``.

    Parameters
    ----------
    folder : Path
        The folder with the files that XLA wrote.
    module : str, optional
        The name of the program, such as ``jit_f``. It is needed if the folder has programs with
        different names. If several programs have this name, the program with the highest module
        number (``module_0012`` in the names of its files) is read.

    Raises
    ------
    JaxmeterError
        If the folder has no such program, if it has programs with different names and `module` is
        not given, or if the folder or a file cannot be read.
    """
    with file_errors("dump", folder, "give a folder that can be read"):
        paths = sorted(folder.iterdir()) if folder.is_dir() else []
    found = [match for path in paths if (match := _AFTER.match(path.name))]
    if not found:
        missing = "contains no file module_*after_optimizations.txt"
        problem = missing if folder.is_dir() else "is not a folder"
        raise JaxmeterError(
            f"dump: got {str(folder)!r}, which {problem}; "
            "give the folder of an XLA dump, made with XLA_FLAGS='--xla_dump_to=FOLDER "
            "--xla_dump_hlo_as_text' on a backend that writes dumps"
        )
    names = sorted({match["module"] for match in found})
    if module is None and len(names) > 1:
        raise JaxmeterError(
            f"dump: got {str(folder)!r}, which has programs with {len(names)} different names; "
            f"give one of these names as module: {', '.join(names[:20])}"
        )
    if module is not None and module not in names:
        raise JaxmeterError(
            f"dump: got module={module!r}, but {str(folder)!r} is a dump of "
            f"{', '.join(names[:20])}; give one of these names"
        )
    found.sort(key=lambda match: int(match["number"]))
    last = [match for match in found if module in (None, match["module"])][-1]
    stem, after = last["stem"], folder / last[0]
    passes = [
        (int(match["position"]), match["pipeline"], match["name"], path)
        for path in paths
        if path.name.startswith(f"{stem}.") and (match := _PASS.match(path.name))
    ]
    assignment = after.with_name(f"{after.stem}-buffer-assignment.txt")
    values = assignment.with_name(f"{assignment.stem}-values.txt")
    return Dump(
        folder,
        last["module"],
        before=_text(folder / f"{stem}.before_optimizations.txt"),
        after=dump_text(after),
        assignment=_text(assignment) + _text(values),
        passes=tuple(sorted(passes)),
    )


def _text(path: Path) -> str:
    return dump_text(path) if os.path.lexists(path) else ""


def dump_text(path: Path) -> str:
    """Return the text of one file of a dump."""
    with file_errors("dump", path, "give a dump with readable files"):
        return read_file(path, TEXT_BYTES).decode("utf-8", "replace")


_SIZES = (
    *("argument_bytes", "output_bytes", "temp_bytes", "largest_temp_bytes", "constant_bytes"),
    *("instructions_count", "fusions_count", "custom_calls_count"),
)
# For each kind of item: the value of the column `what`, the table, the columns by which the table's
# rows are grouped, and the column of bytes.
_TABLES = (
    ("buffer", "dump_buffers", ("buffer_kind", "opcode", "scope", "source"), "bytes"),
    ("fusion", "dump_fusions", ("operations", "scope", "source"), "bytes"),
    ("constant", "dump_constants", ("shape", "value"), "bytes"),
    ("opcode", "dump_opcodes", ("opcode",), "result_bytes"),
    ("precision", "dump_precision", ("dtype", "scope"), "result_bytes"),
    ("call", "dump_custom_calls", ("call_target", "scope"), "bytes"),
)
_NONE = {"count": 0, "bytes": 0, "shape": ""}


@checking_types
def diff_dumps(before: Mapping[str, pd.DataFrame], now: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the differences between two dumps as the table ``dump_diff``.

    Parameters
    ----------
    before, now : mapping
        The tables of each dump, from `dump_tables`. The dumps may be, for example, of two chunk
        sizes or of two commits.
    """
    old, new = _items(before), _items(now)
    rows = [
        _compared(*key, old.get(key, _NONE), new.get(key, _NONE))
        for key in dict.fromkeys([*old, *new])
    ]
    changed = [row for row in rows if row is not None]
    changed.sort(key=lambda row: -(row.get("change_bytes") or 0))
    same = before["dump"]["module"].tolist() == now["dump"]["module"].tolist()
    return frame("dump_diff", [{**row, "is_same_program": same} for row in changed])


def _items(tables: Mapping[str, pd.DataFrame]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the items of a dump that `diff_dumps` compares, with the properties of each item.

    The keys are the columns ``what`` and ``item`` of ``dump_diff``. An item is a size from `_SIZES`
    or a group of rows. A size has one property: ``count`` or ``bytes``. A group has the total
    ``count`` and ``bytes`` of its rows, and the ``shape`` of its first row. Rows of the program
    before optimisation are left out.
    """
    (total,) = tables["dump"].to_dict("records")
    found: dict[tuple[str, str], dict[str, Any]] = {
        ("size", name): {name.rpartition("_")[2]: total[name]} for name in _SIZES
    }
    for what, table, keys, size in _TABLES:
        for row in tables[table].to_dict("records"):
            if row.get("stage") == "before":
                continue
            item = " ".join(filter(None, (row[name] for name in keys)))
            group = found.setdefault((what, item), {**_NONE, "shape": row.get("shape", "")})
            group["count"] += row.get("count", 1)
            group["bytes"] += row[size]
    return found


def _compared(
    what: str, item: str, old: Mapping[str, Any], new: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return the row of ``dump_diff`` for an item; None if the item is the same in both dumps."""
    old, new = ({k: None if pd.isna(v) else v for k, v in side.items()} for side in (old, new))
    if old == new:
        return None
    row: dict[str, Any] = {"what": what, "item": item}
    for name in old:
        row |= {f"before_{name}": old[name], f"now_{name}": new[name]}
    before, now = old.get("bytes"), new.get("bytes")
    if before is not None and now is not None:
        row["change_bytes"] = now - before
    for unit in ("bytes", "count"):
        before, now = old.get(unit), new.get(unit)
        if before and now is not None:
            row["ratio"] = now / before
            break
    return row
