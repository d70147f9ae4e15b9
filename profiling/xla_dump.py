r"""Dump the program of a function with XLA, or read an existing dump.

The tables list the program's instructions, passes, fusions, buffers, constants, precision and calls
of foreign code. docs/tables.md describes the columns.

    # dump a program
    python profiling/xla_dump.py benchmarks.cases.field:external_field \
        -p workload=w7x -p digits=6 -p half_period=true -p chunk_size=2048 --by-pass
    # also compare it with the program of another chunk size
    python profiling/xla_dump.py ... --than chunk_size=512
    # compare two existing dumps, for example of two commits
    python profiling/xla_dump.py FOLDER --than OTHER_FOLDER
"""

from __future__ import annotations

import argparse
import copy
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import scripting
from jaxmeter import JaxmeterError, bytes_text

SHOWN = {
    "dump_buffers": ("buffer_kind", "bytes", "shape", "opcode", "scope", "source"),
    "dump_fusions": ("fusion", "bytes", "operations", "scope"),
    "dump_precision": ("dtype", "scope", "count", "result_bytes"),
    "dump_constants": ("constant", "shape", "bytes", "scope"),
    "dump_custom_calls": ("call_target", "shape", "scope"),
    "dump_diff": ("what", "item", "before_shape", "now_shape", "change_bytes", "ratio"),
}


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the command-line options."""
    parser = scripting.parser_of(__doc__, target=f"a folder of an XLA dump{scripting.OR_FUNCTION}")
    parser.add_argument("--module", help="name of the program, if a folder has several")
    parser.add_argument("--by-pass", action="store_true", help="also dump after each pass")
    parser.add_argument(
        "--dump-dir", type=Path, help="new folder for the dump; by default in --out"
    )
    parser.add_argument(
        "--than",
        action="append",
        default=[],
        metavar="FOLDER | NAME=VALUE",
        help="compare with another dump, or with the program for other parameters",
    )
    return parser.parse_args(argv)


def work(argv: Sequence[str] | None) -> bool:
    """Dump a program or read a dump, and save and print its tables; return True.

    With ``--than``, also compare the dump with another dump.
    """
    options = parse(argv)
    place = scripting.existing(options)
    name = place.resolve().name if place else options.target
    folder = scripting.folder_for(options, "xla", name)
    from jaxmeter import tables as jt

    dumps = options.dump_dir or folder / "dump"
    tables = tables_of(options, place, dumps)
    if options.than:
        tables["dump_diff"] = jt.diff_dumps(other_tables(options, place, dumps), tables)
    (total,) = tables["dump"].to_dict("records")
    scripting.save(tables, folder, live=place is None, source=total["folder"])
    shown = {name: columns for name, columns in SHOWN.items() if name in tables}
    scripting.show(tables, shown, options.top)
    sizes = [bytes_text(total[name]) for name in ("temp_bytes", "analysed_temp_bytes")]
    analysed = "" if place else f" ({sizes[1]} by memory_analysis())"
    print(
        f"\n{total['module']}: {total['instructions_count']} instructions, "
        f"{sizes[0]} of temporaries{analysed}"
    )
    return True


def tables_of(options: argparse.Namespace, place: Path | None, folder: Path):
    """Return the tables of the dump in `place`, or of a new dump if `place` is None."""
    from jaxmeter import tables as jt

    if place is not None:
        return jt.dump_tables(jt.read_dump(place, options.module))
    number, chosen = 1, folder
    while chosen.exists():
        number += 1
        chosen = folder.with_name(f"{folder.name}-{number}")
    scripting.say(f"xla_dump: compiling {options.target} into {chosen}")
    case = scripting.case_of("xla_dump", options)
    return jt.dump_tables(jt.dump_program(case, chosen, by_pass=options.by_pass))


def other_tables(options: argparse.Namespace, place: Path | None, folder: Path):
    """Return the tables of the other dump, which ``--than`` describes."""
    if len(options.than) == 1 and Path(options.than[0]).is_dir():
        return tables_of(options, Path(options.than[0]), folder)
    if place is not None or not all("=" in text for text in options.than):
        raise JaxmeterError(
            f"--than: got {' '.join(options.than)!r}; give one existing folder, or NAME=VALUE if "
            "the target is a function"
        )
    changed = copy.copy(options)
    names = {text.partition("=")[0] for text in options.than}
    kept = [text for text in options.param if text.partition("=")[0] not in names]
    changed.param = [*kept, *options.than]
    return tables_of(changed, None, folder.with_name(f"{folder.name}-than"))


main = partial(scripting.run, "xla_dump", work)

if __name__ == "__main__":
    sys.exit(main())
