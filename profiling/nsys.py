"""Capture a function with NVIDIA's Nsight Systems, or read a capture that is there: kernels joined
with operations and named scopes, copies, NVTX ranges.

    python profiling/nsys.py benchmarks.cases.field:external_field \
        -p workload=w7x -p digits=6 -p half_period=true
    python profiling/nsys.py FILE.nsys-rep --hlo after_optimizations.txt
    python profiling/nsys.py FILE.sqlite                        # nsys export --type sqlite

Without nsys, on a GPU, the kernels are those of JAX's own trace. docs/tables.md tells the columns.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import jaxmeter
import scripting
from jaxmeter import TARGET_HELP, JaxmeterError, is_target, with_arrays

SHOWN = {
    "kernels": ("kernel", "op", "scope", "launches_count", "total_seconds", "registers_count"),
    "nsys_memcpy": ("copy_kind", "count", "bytes", "total_seconds"),
    "nsys_nvtx": ("text", "count", "total_seconds", "self_seconds"),
}


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """The options."""
    help_text = f"a .nsys-rep or .sqlite of nsys, or {TARGET_HELP}"
    parser = scripting.parser_of(__doc__, target=help_text)
    parser.add_argument("--nsys", help="its program; else the one on the PATH")
    parser.add_argument("--repeat", type=int, default=3, help="runs in the capture")
    parser.add_argument(
        "--hlo", type=Path, nargs="*", default=[], help="HLO texts, for the scopes of a capture"
    )
    parser.add_argument("--only-run", action="store_true", help="run the function and end")
    return parser.parse_args(argv)


def work(argv: Sequence[str] | None) -> bool:
    """Capture or find, read, print, save; whether there was any kernel or range."""
    options = parse(argv)
    if options.only_run:
        return run(options) is not None
    from jaxmeter import tables as artefacts

    place = Path(options.target)
    live = not place.exists()
    if live and not is_target(options.target):
        raise JaxmeterError(
            f"got target={options.target!r}, which is no file that is there and no "
            "'package.module:function'"
        )
    folder = scripting.folder_for(options, "nsys", options.target if live else place.stem)
    texts = dict(artefacts.hlo_file(file) for file in options.hlo)
    if live:
        try:
            place = captured(options, folder, list(sys.argv[1:] if argv is None else argv))
        except JaxmeterError as error:
            if str(error) != artefacts.INSTALL_NSYS:
                raise
            return kernels_of_trace(options, folder)
        texts |= programs(options)
    if place.suffix == ".nsys-rep":
        place = artefacts.nsys_export(artefacts.nsys_program(options.nsys), place)
    tables = artefacts.nsys_tables(artefacts.read_nsys(place), texts)
    scripting.save(tables, folder, live=live, artefact=str(place))
    scripting.show(tables, SHOWN, options.top)
    (told,) = tables["nsys"].to_dict("records")
    print(
        f"\nnsys {told['version'] or 'of unknown version'}: {told['kernels_count']} kernels, "
        f"{told['kernels_with_op_count']} joined with an operation, "
        f"{told['kernels_with_scope_count']} with a named scope; {told['nvtx_ranges_count']} ranges"
    )
    if not told["nvtx_ranges_count"]:
        scripting.say(f"nsys: {artefacts.NO_RANGES}")
    if not told["kernels_count"]:
        scripting.say("nsys: no kernel in it: nothing ran on a GPU while it was captured")
    return bool(told["kernels_count"] or told["nvtx_ranges_count"])


def captured(options: argparse.Namespace, folder: Path, arguments: list[str]) -> Path:
    """The report of a run of this very command in a process of its own, under nsys."""
    from jaxmeter import tables as artefacts

    nsys = artefacts.nsys_program(options.nsys)
    scripting.say(f"nsys: version {artefacts.nsys_version(nsys)}, capturing {options.target}")
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, str(Path(__file__).resolve()), "--only-run", *arguments]
    return artefacts.nsys_profile(nsys, command, folder / "capture")


def run(options: argparse.Namespace):
    """Call the function, the first time apart from what is repeated."""
    import jax

    case = with_arrays(scripting.case_of("nsys", options))
    function, result = jaxmeter.jitted(case), None
    for _ in range(1 + options.repeat):
        result = jax.block_until_ready(function(*case.args, **case.kwargs))
    return result


def programs(options: argparse.Namespace) -> dict[str, str]:
    """The HLO text of the function's program, by its module's name."""
    text = jaxmeter.staged(scripting.case_of("nsys", options)).lowered.compile().as_text() or ""
    return {text.partition("HloModule ")[2].partition(",")[0]: text} if text else {}


def kernels_of_trace(options: argparse.Namespace, folder: Path) -> bool:
    """Without nsys: the same table of kernels from a trace of JAX, on a GPU."""
    import jax

    from jaxmeter import tables as artefacts

    scripting.start_jax()
    if jax.default_backend() not in ("gpu", "cuda", "rocm"):
        raise JaxmeterError(artefacts.INSTALL_NSYS)
    scripting.say(f"{artefacts.INSTALL_NSYS}\nnsys: kernels from JAX's own trace instead")
    path = artefacts.capture(scripting.case_of("nsys", options), folder, repeat=options.repeat)
    tables = artefacts.trace_tables(artefacts.read_trace(path))
    scripting.save(tables, folder, live=True, artefact=str(path))
    scripting.show(tables, {"kernels": SHOWN["kernels"]}, options.top)
    return len(tables["kernels"]) > 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    return scripting.run("nsys", lambda: work(argv))


if __name__ == "__main__":
    sys.exit(main())
