"""Dumps of XLA: of one program, without flags for the whole process, or found in a folder."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import jax

from jaxmeter._measure.accounting import compiler_account
from jaxmeter.errors import JaxmeterError

_AFTER = re.compile(
    r"^(?P<stem>module_\d+\.(?P<module>.+?))\.(?:(?:sm_\d+\.\d+_)?\w+_)?after_optimizations\.txt$"
)
_PASS = re.compile(
    r"^.+\.(?P<position>\d{4})\.(?P<pipeline>.+)\.after_(?P<name>.+)\.before_.+\.txt$"
)


@dataclass(frozen=True)
class Dump:
    """One program as XLA dumped it.

    Attributes
    ----------
    folder, module : where it is and what it is called.
    before, after : HLO before any pass, empty if it was not dumped, and after all.
    assignment : XLA's account of the buffers; empty if it was not dumped.
    passes : number, pipeline and name of each pass with the file of the HLO after it, in order.
    analysed_temp_bytes : by `memory_analysis()`, where it was compiled here.
    """

    folder: Path
    module: str
    before: str
    after: str
    assignment: str
    passes: tuple[tuple[int, str, str, Path], ...]
    analysed_temp_bytes: int | None = None


def dump_program(lowered: jax.stages.Lowered, folder: Path, *, by_pass: bool = False) -> Dump:
    """Compile one program and let XLA dump it.

    Parameters
    ----------
    lowered : jax.stages.Lowered
        ``jax.jit(f).lower(*args)``.
    folder : Path
        Empty or not there yet, so that no other program is taken for this one.
    by_pass : bool
        Whether to dump the program after each pass that changed it.

    Raises
    ------
    JaxmeterError
        If the folder holds something, cannot be written, or the backend dumps nothing.
    Exception
        Whatever compiling raises.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        held = any(folder.iterdir())
    except OSError as error:
        raise JaxmeterError(
            f"dump: got folder={str(folder)!r} ({error}); give one that can be written"
        ) from None
    if held:
        raise JaxmeterError(f"dump: got folder={str(folder)!r}, which is not empty; give a new one")
    options: dict[str, str | bool] = {"xla_dump_to": str(folder.resolve())}
    if by_pass:
        options["xla_dump_hlo_pass_re"] = ".*"
    compiled = lowered.compile(compiler_options=options)
    return read_dump(folder, analysed_temp_bytes=compiler_account(compiled)["temp_bytes"])


def read_dump(
    folder: Path, module: str | None = None, *, analysed_temp_bytes: int | None = None
) -> Dump:
    """Read a dump, made by `dump_program` or by ``XLA_FLAGS=--xla_dump_to=FOLDER``.

    Parameters
    ----------
    folder : Path
        With the files of XLA.
    module : str, optional
        Which program, such as ``jit_f``, if there are many; of several compiled under one name the
        last.

    Raises
    ------
    JaxmeterError
        If there is no such program, or several and none was asked for.
    """
    found = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        match = _AFTER.match(path.name)
        if match is not None:
            found[match["stem"]] = (match["module"], path)
    if not found:
        raise JaxmeterError(
            f"dump: got {str(folder)!r}, which holds no *after_optimizations.txt; give a folder "
            "that XLA dumped to, or package.module:function to dump"
        )
    names = sorted({name for name, _ in found.values()})
    if module is None and len(names) > 1:
        raise JaxmeterError(
            f"dump: got {str(folder)!r}, which holds {len(names)} programs; give one of "
            f"{', '.join(names[:20])} as the module"
        )
    stems = [stem for stem, (name, _) in found.items() if module in (None, name)]
    if not stems:
        raise JaxmeterError(
            f"dump: got module={module!r}, but {str(folder)!r} is a dump of {', '.join(names[:20])}"
        )
    stem = stems[-1]
    name, after = found[stem]
    passes = []
    for path in sorted(folder.glob(f"{stem}.[0-9][0-9][0-9][0-9].*.txt")):
        match = _PASS.match(path.name)
        if match is not None:
            passes.append((int(match["position"]), match["pipeline"], match["name"], path))
    return Dump(
        folder,
        name,
        before=_text(folder / f"{stem}.before_optimizations.txt"),
        after=_text(after),
        assignment=_text(after.with_name(after.name[:-4] + "-buffer-assignment.txt")),
        passes=tuple(passes),
        analysed_temp_bytes=analysed_temp_bytes,
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise JaxmeterError(f"dump: cannot read {str(path)!r} ({error})") from None
