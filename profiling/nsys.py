r"""Capture a function with NVIDIA's Nsight Systems, or read an existing capture.

The tables list GPU kernels (with their operations and named scopes), copies and NVTX ranges.
docs/tables.md describes the columns.

    # capture a function
    python profiling/nsys.py benchmarks.cases.field:external_field \
        -p workload=w7x -p digits=6 -p half_period=true
    # read a report, with the named scopes from an HLO file
    python profiling/nsys.py FILE.nsys-rep --hlo after_optimizations.txt
    # read a file that "nsys export --type sqlite" wrote
    python profiling/nsys.py FILE.sqlite

If nsys is not installed, the GPU kernels of a function are read from JAX's own trace.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import scripting
from jaxmeter import JaxmeterError

SHOWN = {
    "kernels": ("kernel", "op", "scope", "launches_count", "total_seconds", "registers_count"),
    "nsys_memcpy": ("copy_kind", "count", "bytes", "total_seconds"),
    "nsys_nvtx": ("text", "count", "total_seconds", "self_seconds"),
}


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the command-line options."""
    parser = scripting.parser_of(
        __doc__, target=f"a .nsys-rep or .sqlite file of nsys{scripting.OR_FUNCTION}"
    )
    parser.add_argument("--nsys", help="path of the program nsys; by default, nsys on the PATH")
    about = "number of runs after the first run; default: 3"
    parser.add_argument("--repeat", type=scripting.count, default=3, help=about)
    parser.add_argument(
        "--hlo", type=Path, nargs="*", default=[], help="HLO files with the scopes of the kernels"
    )
    parser.add_argument("--only-run", action="store_true", help="run the function, then stop")
    return parser.parse_args(argv)


def work(argv: Sequence[str] | None) -> bool:
    """Capture a function or read a capture, and save and print the tables.

    Return whether the capture contains any kernel or NVTX range. With ``--only-run``, only run the
    function, and return True.
    """
    options = parse(argv)
    from jaxmeter import tables as jt

    if options.only_run:
        run = jt.runner(scripting.case_of("nsys", options))
        for _ in range(1 + options.repeat):
            run()
        return True
    place = scripting.existing(options)
    live = place is None
    folder = scripting.folder_for(options, "nsys", place.stem if place else options.target)
    texts = dict(map(jt.hlo_file, options.hlo))
    if place is None:
        if options.nsys is None and shutil.which("nsys") is None:
            return kernels_of_trace(options, folder)
        place = captured(options, folder, list(sys.argv[1:] if argv is None else argv))
        texts |= jt.hlo_of(scripting.case_of("nsys", options))
    if place.suffix == ".nsys-rep":
        place = jt.nsys_export(jt.nsys_program(options.nsys), place)
    tables = jt.nsys_tables(jt.read_nsys(place), texts)
    scripting.save(tables, folder, live=live, source=str(place))
    scripting.show(tables, SHOWN, options.top)
    (total,) = tables["nsys"].to_dict("records")
    print(
        f"\nnsys {total['version'] or 'of unknown version'}: {total['kernels_count']} kernels, "
        f"{total['kernels_with_op_count']} of them with a known operation and "
        f"{total['kernels_with_scope_count']} with a known named scope; "
        f"{total['nvtx_ranges_count']} NVTX ranges"
    )
    if total["kernels_count"]:
        print(scripting.conclusion(tables["kernels"], "total_seconds"))
    if not total["nvtx_ranges_count"]:
        scripting.say(f"nsys: {jt.NO_RANGES}")
    if not total["kernels_count"]:
        scripting.say("nsys: the capture has no kernel: nothing ran on a GPU during the capture")
    return bool(total["kernels_count"] or total["nvtx_ranges_count"])


def captured(options: argparse.Namespace, folder: Path, arguments: list[str]) -> Path:
    """Run this script under nsys with the same arguments and ``--only-run``.

    Return the path of the report.
    """
    from jaxmeter import tables as jt

    nsys = jt.nsys_program(options.nsys)
    scripting.say(f"nsys: version {jt.nsys_version(nsys)}, capturing {options.target}")
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, str(Path(__file__).resolve()), "--only-run", *arguments]
    return jt.nsys_profile(nsys, command, folder / "capture")


def kernels_of_trace(options: argparse.Namespace, folder: Path) -> bool:
    """Trace with JAX because nsys is not installed; save the tables, and print the kernels.

    Return whether the trace contains any kernel. Raise a `JaxmeterError` if JAX does not use a GPU.
    """
    import jax

    from jaxmeter import tables as jt

    if jax.default_backend() not in ("gpu", "cuda", "rocm"):
        raise JaxmeterError(jt.INSTALL_NSYS)
    scripting.say(f"{jt.INSTALL_NSYS}\nnsys: reading kernels from JAX's own trace instead")
    path = jt.capture(scripting.case_of("nsys", options), folder, repeat=options.repeat)
    tables = jt.trace_tables(jt.read_trace(path))
    scripting.save(tables, folder, live=True, source=str(path))
    scripting.show(tables, {"kernels": SHOWN["kernels"]}, options.top)
    return len(tables["kernels"]) > 0


main = partial(scripting.run, "nsys", work)

if __name__ == "__main__":
    sys.exit(main())
