"""The tables of a dump of XLA, and of two of them compared."""

from __future__ import annotations

from jaxmeter._tables.schemas import REAL, TEXT, TRUTH, WHOLE, schema

schema(
    "dump",
    "What was dumped, one row.",
    {
        "folder": (TEXT, "where the dump lies"),
        "module": (TEXT, "the program: `jit_f`"),
        "instructions_before_count": (WHOLE, "instructions before any pass"),
        "instructions_count": (WHOLE, "in the optimised program, within fusions too"),
        "fusions_count": (WHOLE, "fusions in it"),
        "custom_calls_count": (WHOLE, "calls of foreign code in it"),
        "passes_count": (WHOLE, "passes that were dumped"),
        "argument_bytes": (WHOLE, "by the buffer assignment, bytes"),
        "output_bytes": (WHOLE, "the same, results, bytes"),
        "temp_bytes": (WHOLE, "the same, all temporaries, buffers at one place counted once"),
        "analysed_temp_bytes": (WHOLE, "by `memory_analysis()`, where it was compiled here, bytes"),
        "largest_temp_bytes": (WHOLE, "the largest temporary, bytes"),
        "largest_temp": (TEXT, "its shape, operation and named scope"),
        "constant_bytes": (WHOLE, "arrays that are constants of the program, bytes"),
    },
)
schema(
    "dump_opcodes",
    "Instructions of one kind, before and after optimisation.",
    {
        "stage": (TEXT, "`before` or `after`"),
        "opcode": (TEXT, "kind of instruction"),
        "count": (WHOLE, "instructions"),
        "fused_count": (WHOLE, "of them, those within fusions"),
        "result_bytes": (WHOLE, "what those outside of fusions compute, each once, bytes"),
    },
)
schema(
    "dump_passes",
    "A pass that changed the program, in order.",
    {
        "position": (WHOLE, "its number in the dump"),
        "pipeline": (TEXT, "the pipeline it belongs to"),
        "name": (TEXT, "of the pass; `pipeline-start` where the pipeline begins"),
        "instructions_count": (WHOLE, "instructions after it"),
        "instructions_change_count": (WHOLE, "more than after the pass before"),
        "fusions_count": (WHOLE, "fusions after it"),
        "fusions_change_count": (WHOLE, "more than after the pass before"),
    },
)
schema(
    "dump_fusions",
    "A fusion of the optimised program, the one with the largest result first.",
    {
        "fusion": (TEXT, "its name"),
        "fusion_kind": (TEXT, "`kLoop`, `kInput`, `kOutput`, `kCustom`"),
        "shape": (TEXT, "of its result"),
        "bytes": (WHOLE, "of its result, bytes"),
        "operations": (TEXT, "what it computes, without what only moves data"),
        "operations_count": (WHOLE, "instructions in it"),
        "scope": (TEXT, "named scopes"),
        "source": (TEXT, "file and line"),
    },
)
schema(
    "dump_buffers",
    "A value that has memory of its own, the largest first, by XLA's buffer assignment.",
    {
        "buffer_kind": (TEXT, "`argument`, `output`, `temporary`, `constant`"),
        "bytes": (WHOLE, "its size, bytes"),
        "shape": (TEXT, "type and shape"),
        "opcode": (TEXT, "of the instruction that computes it"),
        "scope": (TEXT, "named scopes; of an argument its name"),
        "source": (TEXT, "file and line"),
        "instruction": (TEXT, "its name in the optimised HLO"),
        "offset_bytes": (WHOLE, "of a temporary, where it begins; what overlaps is never at once"),
    },
)
schema(
    "dump_constants",
    "A constant of the optimised program, the largest first.",
    {
        "constant": (TEXT, "its name"),
        "shape": (TEXT, "type and shape"),
        "bytes": (WHOLE, "its size, bytes"),
        "value": (TEXT, "as XLA writes it, cut"),
        "scope": (TEXT, "named scopes"),
        "source": (TEXT, "file and line"),
    },
)
schema(
    "dump_precision",
    "Instructions of the optimised program by the type of their result and by named scope.",
    {
        "dtype": (TEXT, "XLA's name of the type: `f64`, `f32`, `s32`, `pred`"),
        "scope": (TEXT, "named scopes"),
        "count": (WHOLE, "instructions, within fusions too"),
        "result_bytes": (WHOLE, "their results, each once, bytes"),
    },
)
schema(
    "dump_custom_calls",
    "A call of foreign code, such as a library's, in the optimised program.",
    {
        "instruction": (TEXT, "its name"),
        "call_target": (TEXT, "what is called"),
        "shape": (TEXT, "of its result"),
        "bytes": (WHOLE, "of its result, bytes"),
        "scope": (TEXT, "named scopes"),
        "source": (TEXT, "file and line"),
    },
)
schema(
    "dump_diff",
    "What two dumps differ in, what grew most first. Buffers, fusions and constants are "
    "matched by kind, operation, named scope and source line, as their names change at will.",
    {
        "what": (TEXT, "`size`, `buffer`, `opcode`, `fusion`, `constant`, `precision`, `call`"),
        "item": (TEXT, "which: its operation, named scope and line"),
        "before_count": (WHOLE, "how many there were"),
        "now_count": (WHOLE, "how many there are"),
        "before_bytes": (WHOLE, "their size before, bytes"),
        "now_bytes": (WHOLE, "their size now, bytes"),
        "change_bytes": (WHOLE, "now less before, bytes"),
        "ratio": (REAL, "now over before, in bytes, else in number"),
        "before_shape": (TEXT, "of the largest before"),
        "now_shape": (TEXT, "of the largest now"),
        "is_same_program": (TRUTH, "whether both dumps are of modules of the same name"),
    },
)
