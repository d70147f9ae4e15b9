"""The tables of a trace."""

from __future__ import annotations

from jaxmeter._tables.schemas import REAL, TEXT, TRUTH, WHOLE, schema

schema(
    "trace",
    "What was read, one row.",
    {
        "path": (TEXT, "the `.xplane.pb` file"),
        "file_bytes": (WHOLE, "its size, bytes"),
        "events_count": (WHOLE, "events read, marks of thread pools included"),
        "op_events_count": (WHOLE, "of them, runs of operations of programs"),
        "lines_count": (WHOLE, "threads and streams with events"),
        "programs_count": (WHOLE, "programs whose operations ran"),
        "programs_with_hlo_count": (WHOLE, "of them, those whose HLO is known"),
        "span_seconds": (REAL, "from the first event to the end of the last, seconds"),
        "op_self_seconds": (REAL, "self time of all operations, summed over threads, seconds"),
        "scoped_fraction": (REAL, "share of it that has a named scope, 0 to 1"),
    },
)
schema(
    "trace_ops",
    "An operation of a program, the one with most self time first. Threads overlap: sums over "
    "them are no wall time.",
    {
        "program": (TEXT, "module and the number of its program: `jit_f(30)`"),
        "op": (TEXT, "name of the instruction in the optimised HLO"),
        "opcode": (TEXT, "of the instruction: `fusion`, `dot`, `while`"),
        "scope": (TEXT, "named scopes, the outermost first: `far_field/tile`"),
        "op_name": (TEXT, "JAX's name, transformations and control flow included"),
        "source": (TEXT, "file and line"),
        "is_inherited": (TRUTH, "whether it has no name itself, and has that of what it computes"),
        "device": (TEXT, "plane of the trace it ran on"),
        "count": (WHOLE, "runs"),
        "lines_count": (WHOLE, "threads or streams it ran on"),
        "total_seconds": (REAL, "duration of all runs, what they hold included, seconds"),
        "self_seconds": (REAL, "without the operations within, such as a loop's body, seconds"),
        "self_fraction": (REAL, "share of the self time of all operations, 0 to 1"),
    },
)
schema(
    "trace_scopes",
    "A named scope and all within, the one with most self time first.",
    {
        "scope": (TEXT, "named scopes; empty for operations outside of any"),
        "ops_count": (WHOLE, "operations"),
        "count": (WHOLE, "their runs"),
        "self_seconds": (REAL, "their self time, seconds"),
        "self_fraction": (REAL, "share of that of all operations, 0 to 1"),
    },
)
schema(
    "trace_threads",
    "A thread, or a stream of a device, and how occupied it was.",
    {
        "device": (TEXT, "plane of the trace"),
        "thread": (TEXT, "line of the trace"),
        "events_count": (WHOLE, "events with a name of their own"),
        "op_events_count": (WHOLE, "of them, runs of operations"),
        "busy_seconds": (REAL, "time in which an event was under way, waiting included, seconds"),
        "op_busy_seconds": (REAL, "time in which an operation was under way, seconds"),
        "op_self_seconds": (REAL, "sum of the self times of its operations, seconds"),
        "op_occupancy": (REAL, "op_busy_seconds over the span of the trace, 0 to 1"),
    },
)
schema(
    "trace_steps",
    "A step, as `jax.profiler.StepTraceAnnotation` names it.",
    {
        "name": (TEXT, "of the annotation"),
        "step": (WHOLE, "its number"),
        "start_seconds": (REAL, "since the trace began, seconds"),
        "duration_seconds": (REAL, "of the step, seconds"),
        "op_self_seconds": (REAL, "self time of operations that began in it, all threads, seconds"),
        "op_events_count": (WHOLE, "runs of operations that began in it"),
    },
)
schema(
    "trace_annotations",
    "Events on threads of the host that are no operations, of one name and the same keywords; "
    "`jax.profiler.TraceAnnotation` makes them, and so does the runtime.",
    {
        "name": (TEXT, "of the event"),
        "keywords": (TEXT, "its keywords as JSON; empty if there are none"),
        "kind": (TEXT, "`annotation`, `step`, or `python`, a frame of the interpreter"),
        "count": (WHOLE, "events"),
        "total_seconds": (REAL, "their durations, seconds"),
        "self_seconds": (REAL, "without other such events within, seconds"),
    },
)
schema(
    "trace_phases",
    "What a thread of the host was about, each moment counted for the innermost event that tells.",
    {
        "phase": (TEXT, "`trace`, `lower`, `compile`, `dispatch`, `transfer`, `wait`, `execute`"),
        "thread": (TEXT, "line of the trace; pools are summed"),
        "seconds": (REAL, "time, seconds; a pool's threads are summed"),
        "events_count": (WHOLE, "events that tell it"),
    },
)
