"""Let XLA dump the program of one function, or read a dump that is there, and tell what it is made
of: instructions, passes, fusions, buffers, constants, precision, calls of foreign code.

    python profiling/xla_dump.py benchmarks.cases.field:external_field \
        -p workload=w7x -p digits=6 -p half_period=true -p chunk_size=2048 --by-pass
    python profiling/xla_dump.py ... --than chunk_size=512      # and in what it differs from that
    python profiling/xla_dump.py FOLDER --than FOLDER           # of other commits, say

docs/tables.md tells the columns.
"""

from __future__ import annotations

import argparse
import copy
import sys
from collections.abc import Sequence
from pathlib import Path

import jaxmeter
import scripting
from jaxmeter import TARGET_HELP, JaxmeterError, is_target

SHOWN = {
    "dump_buffers": ("buffer_kind", "bytes", "shape", "opcode", "scope", "source"),
    "dump_fusions": ("fusion", "bytes", "operations", "scope"),
    "dump_precision": ("dtype", "scope", "count", "result_bytes"),
    "dump_constants": ("constant", "shape", "bytes", "scope"),
    "dump_custom_calls": ("call_target", "shape", "scope"),
}
DIFFERENT = ("what", "item", "before_shape", "now_shape", "change_bytes", "ratio")


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """The options."""
    help_text = f"a folder that XLA dumped to, or {TARGET_HELP}"
    parser = scripting.parser_of(__doc__, target=help_text)
    parser.add_argument("--module", help="which program of a folder that holds several")
    parser.add_argument("--by-pass", action="store_true", help="dump it after each pass too")
    parser.add_argument("--dump-dir", type=Path, help="a new folder for the dump; else in --out")
    parser.add_argument(
        "--than",
        action="append",
        default=[],
        metavar="FOLDER | NAME=VALUE",
        help="tell in what it differs from that dump, or from that of other parameters",
    )
    return parser.parse_args(argv)


def work(argv: Sequence[str] | None) -> bool:
    """Dump or find, read, compare, print, save."""
    options = parse(argv)
    place = Path(options.target)
    live = not place.is_dir()
    name = options.target if live else place.resolve().name
    folder = scripting.folder_for(options, "xla", name)
    if live and not is_target(options.target):
        raise JaxmeterError(
            f"got target={options.target!r}, which is no folder that is there and no "
            "'package.module:function'"
        )
    from jaxmeter import tables as artefacts

    dumps = options.dump_dir or folder / "dump"
    tables = tables_of(options, dumps if live else place, live=live)
    if options.than:
        tables["dump_diff"] = artefacts.diff_dumps(other(options, dumps, live=live), tables)
    scripting.save(tables, folder, live=live, artefact=str(dumps if live else place))
    shown = {**SHOWN, **({"dump_diff": DIFFERENT} if options.than else {})}
    scripting.show(tables, shown, options.top)
    (told,) = tables["dump"].to_dict("records")
    analysed = f" ({told['analysed_temp_bytes']} by memory_analysis())" if live else ""
    print(
        f"\n{told['module']}: {told['instructions_count']} instructions, "
        f"{told['temp_bytes']} bytes of temporaries{analysed}"
    )
    return True


def tables_of(options: argparse.Namespace, folder: Path, *, live: bool):
    """The tables of the dump in a folder; made there first from the target if it is `live`."""
    from jaxmeter import tables as artefacts

    if not live:
        return artefacts.dump_tables(artefacts.read_dump(folder, options.module))
    folder = fresh(folder)
    scripting.say(f"xla_dump: compiling {options.target} into {folder}")
    lowered = jaxmeter.staged(scripting.case_of("xla_dump", options)).lowered
    return artefacts.dump_tables(artefacts.dump_program(lowered, folder, by_pass=options.by_pass))


def other(options: argparse.Namespace, folder: Path, *, live: bool):
    """The tables of what to compare with."""
    places = [Path(text) for text in options.than]
    if len(places) == 1 and places[0].is_dir():
        return tables_of(options, places[0], live=False)
    if not live or not all("=" in text for text in options.than):
        raise JaxmeterError(
            f"--than: got {' '.join(options.than)!r}; give one folder that is there, or for a "
            "function NAME=VALUE"
        )
    changed = copy.copy(options)
    names = {text.partition("=")[0] for text in options.than}
    kept = [text for text in options.param if text.partition("=")[0] not in names]
    changed.param = [*kept, *options.than]
    return tables_of(changed, folder.with_name(f"{folder.name}-than"), live=True)


def fresh(folder: Path) -> Path:
    """A folder that is not there yet: this one, or with a number."""
    number, chosen = 1, folder
    while chosen.exists():
        number += 1
        chosen = folder.with_name(f"{folder.name}-{number}")
    return chosen


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    return scripting.run("xla_dump", lambda: work(argv))


if __name__ == "__main__":
    sys.exit(main())
