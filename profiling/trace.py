r"""Trace a function, or read an existing trace, and show where the time went.

    # trace a function
    python profiling/trace.py benchmarks.cases.field:external_field \
        -p workload=w7x -p digits=6 -p half_period=true
    # read a trace from a folder that jax.profiler.trace wrote
    python profiling/trace.py FOLDER
    # open the trace of the first command in TensorBoard
    tensorboard --logdir results/profile/trace-benchmarks.cases.field-external_field

The tables list operations (with total and self time), named scopes, threads, steps, annotations,
phases and kernels. If xprof is installed, the tables that it makes are added.
docs/tables.md describes the columns.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import scripting
from jaxmeter import JaxmeterError

if TYPE_CHECKING:
    import pandas as pd

SHOWN = {
    "trace_scopes": ("scope", "ops_count", "count", "self_seconds", "self_fraction"),
    "trace_ops": ("op", "opcode", "scope", "source", "count", "self_seconds", "self_fraction"),
    "trace_threads": ("thread", "op_events_count", "op_busy_seconds", "op_occupancy"),
    "trace_phases": ("phase", "thread", "seconds", "events_count"),
}


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the command-line options."""
    parser = scripting.parser_of(
        __doc__, target=f"a trace folder, an .xplane.pb file{scripting.OR_FUNCTION}"
    )
    parser.add_argument(
        "--repeat", type=scripting.count, default=3, help="runs in the trace; default: 3"
    )
    parser.add_argument("--cold", action="store_true", help="trace the first run and its compile")
    parser.add_argument(
        "--trace-dir", type=Path, help="folder for the trace; by default the folder of --out"
    )
    parser.add_argument(
        "--hlo", type=Path, nargs="*", default=[], help="HLO files of programs in the trace"
    )
    parser.add_argument("--no-xprof", action="store_true", help="leave out xprof's own tables")
    return parser.parse_args(argv)


def work(argv: Sequence[str] | None) -> bool:
    """Trace a function or read a trace, and save and print the tables.

    Return whether the trace contains any operation.
    """
    options = parse(argv)
    place = scripting.existing(options)
    name = place.resolve().name if place else options.target
    folder = scripting.folder_for(options, "trace", name)
    from jaxmeter import tables as jt

    if place is not None:
        path = jt.trace_file(place)
    else:
        scripting.say(f"trace: making the case of {options.target}")
        case = scripting.case_of("trace", options)
        scripting.say(f"trace: {options.repeat} runs")
        logdir = options.trace_dir or folder
        path = jt.capture(case, logdir, repeat=options.repeat, cold=options.cold)
        scripting.say(f"trace: to open it, run tensorboard --logdir {logdir}")
    scripting.say(f"trace: reading {path} ({path.stat().st_size / 1e6:.1f} MB)")
    tables = jt.trace_tables(jt.read_trace(path), dict(map(jt.hlo_file, options.hlo)))
    xprof = {}
    if not options.no_xprof:
        try:
            xprof = jt.xprof_tables(path, tables["trace_ops"]["program"].unique())
        except JaxmeterError as error:  # xprof is not installed
            scripting.say(str(error))
    scripting.save({**tables, **xprof}, folder, live=place is None, source=str(path))
    (total,) = tables["trace"].to_dict("records")
    unknown = total["programs_count"] - total["programs_with_hlo_count"]
    scripting.show(tables, SHOWN, options.top)
    print(f"\n{total['events_count']} events, {total['op_events_count']} of them operations")
    if total["op_events_count"]:
        print(f"{total['scoped_fraction']:.1%} of the operations' self time is in named scopes")
        if unknown:
            print(
                f"the scopes of {unknown} of {total['programs_count']} programs are not known: the "
                "trace lacks their HLO, for example because they came from the persistent cache; "
                "give --hlo, or trace without the cache"
            )
        if note := command_buffers_note(tables["trace_ops"]):
            print(note)
    else:
        scripting.say("trace: no operation of a JAX program ran during the trace")
    if xprof:
        empty = xprof["xprof_tools"].query("status == 'empty'")["tool"]
        print(f"xprof's own tables without data here: {', '.join(empty) or 'none'}")
    if total["op_events_count"] and (total["scoped_fraction"] or not unknown):
        steps = list(tables["trace_steps"]["duration_seconds"])
        print(scripting.conclusion(tables["trace_scopes"], "self_seconds", steps))
    return bool(total["op_events_count"])


def command_buffers_note(ops: pd.DataFrame) -> str:
    """Return advice if kernels were launched from command buffers, else an empty text.

    A command buffer is a CUDA graph. All kernels in the graph have the operation
    ``command_buffer_<number>``, which is not an instruction of the program and has no scope.
    """
    share = ops.loc[ops["op"].str.startswith("command_buffer"), "self_fraction"].sum()
    if not share:
        return ""
    return (
        f"{share:.0%} of the self time is in command buffers; their kernels have no instruction "
        "and no scope; set XLA_FLAGS=--xla_gpu_enable_command_buffer= and trace again"
    )


main = partial(scripting.run, "trace", work)

if __name__ == "__main__":
    sys.exit(main())
