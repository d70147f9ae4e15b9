"""Trace a function, or read a trace that is there, and tell what took the time.

    python profiling/trace.py benchmarks.cases.field:external_field \
        -p workload=w7x -p digits=6 -p half_period=true
    python profiling/trace.py FOLDER            # that jax.profiler.trace wrote to
    tensorboard --logdir results/profile/trace-benchmarks.cases.field-external_field

Operations with total and self time, named scopes, threads, steps, annotations, phases, kernels; and
xprof's own tables where it has data. docs/tables.md tells the columns.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import scripting
from jaxmeter import TARGET_HELP, JaxmeterError, is_target

SHOWN = {
    "trace_scopes": ("scope", "ops_count", "count", "self_seconds", "self_fraction"),
    "trace_ops": ("op", "opcode", "scope", "source", "count", "self_seconds", "self_fraction"),
    "trace_threads": ("thread", "op_events_count", "op_busy_seconds", "op_occupancy"),
    "trace_phases": ("phase", "thread", "seconds", "events_count"),
}


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """The options."""
    help_text = f"a trace folder, an .xplane.pb file, or {TARGET_HELP}"
    parser = scripting.parser_of(__doc__, target=help_text)
    parser.add_argument("--repeat", type=int, default=3, help="runs in the trace")
    parser.add_argument("--cold", action="store_true", help="trace compiling and the first run too")
    parser.add_argument("--trace-dir", type=Path, help="where the trace goes; else into --out")
    parser.add_argument(
        "--hlo", type=Path, nargs="*", default=[], help="HLO texts of programs the trace lacks"
    )
    parser.add_argument("--no-xprof", action="store_true", help="leave xprof's own tables out")
    return parser.parse_args(argv)


def work(argv: Sequence[str] | None) -> bool:
    """Trace or find, read, print, save; whether any operation was seen."""
    options = parse(argv)
    place, live = Path(options.target), False
    name = place.resolve().name if place.exists() else options.target
    folder = scripting.folder_for(options, "trace", name)
    from jaxmeter import tables as artefacts

    if place.exists():
        path = artefacts.trace_file(place)
    elif is_target(options.target):
        scripting.say(f"trace: making the case of {options.target}")
        case, live = scripting.case_of("trace", options), True
        scripting.say(f"trace: {options.repeat} runs")
        logdir = options.trace_dir or folder
        path = artefacts.capture(case, logdir, repeat=options.repeat, cold=options.cold)
        scripting.say(f"trace: tensorboard --logdir {logdir}")
    else:
        raise JaxmeterError(
            f"got target={options.target!r}, which is no file or folder that is there and no "
            "'package.module:function'"
        )
    scripting.say(f"trace: reading {path} ({path.stat().st_size / 1e6:.1f} MB)")
    texts = dict(artefacts.hlo_file(file) for file in options.hlo)
    trace = artefacts.read_trace(path)
    tables = artefacts.trace_tables(trace, texts)
    xprof = None if options.no_xprof else xprof_tables(path, tables)
    scripting.save({**tables, **(xprof or {})}, folder, live=live, artefact=str(path))
    (told,) = tables["trace"].to_dict("records")
    scripting.show(tables, SHOWN, options.top)
    print(f"\n{told['events_count']} events, {told['op_events_count']} of them operations")
    if told["op_events_count"]:
        print(f"{told['scoped_fraction']:.1%} of their self time is in a named scope")
    if xprof is not None:
        empty = xprof["xprof_tools"].query("status == 'empty'")["tool"]
        print(f"xprof's own tables without data here: {', '.join(empty) or 'none'}")
    if not told["op_events_count"]:
        scripting.say("trace: no operation of a JAX program is in it: nothing ran while tracing")
    return bool(told["op_events_count"])


def xprof_tables(path: Path, tables):
    """xprof's own tables; None, with a line that says so, where it is not installed."""
    from jaxmeter import tables as artefacts

    try:
        return artefacts.xprof_tables(path, tables["trace_ops"]["program"].unique())
    except JaxmeterError as error:
        scripting.say(str(error))
        return None


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    return scripting.run("trace", lambda: work(argv))


if __name__ == "__main__":
    sys.exit(main())
