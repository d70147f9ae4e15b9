"""The tables of a study of tile sizes: profiling/chunk_study.py fills them."""

from __future__ import annotations

from jaxmeter._tables.schemas import REAL, TEXT, TRUTH, WHOLE, schema

schema(
    "chunk_study",
    "A tile size of one operator: time, memory, operations. Times are paired: each process calls "
    'all sizes in turn, and ratios are to "auto" in the same process.',
    {
        "operator": (TEXT, "`B`, `BOFF` (off the surface), `GRADB`: as in VCJAX_CHUNK_*"),
        "chunk_size": (WHOLE, "sources of a tile"),
        "target_chunk_size": (WHOLE, "targets of a tile"),
        "is_auto": (TRUTH, 'whether that is what "auto" means here'),
        "processes_count": (WHOLE, "processes measured"),
        "seconds": (REAL, "median over processes of the median of a call, seconds"),
        "ratio_to_auto": (REAL, 'median over processes of its time over that of "auto"'),
        "ratio_to_best": (REAL, "of ratio_to_auto over the least of the operator"),
        "least_ratio": (REAL, "the least ratio_to_auto of a process"),
        "largest_ratio": (REAL, "the largest"),
        "temp_bytes": (WHOLE, "temporaries of the program, by the compiler, bytes"),
        "largest_temp_bytes": (WHOLE, "the largest of them, bytes"),
        "run_peak_bytes": (WHOLE, "peak of the process above what it took before the call, bytes"),
        "flops": (REAL, "by XLA, which counts a loop's body once: of about one tile"),
        "accessed_bytes": (REAL, "the same, bytes read and written"),
        "flops_per_byte": (REAL, "arithmetic intensity, flops over accessed_bytes"),
        "instructions_count": (WHOLE, "instructions of the optimised program"),
        "fusions_count": (WHOLE, "fusions of it"),
        "far_fraction": (REAL, "share of far_field or far_gradient in the self time of a trace"),
        "kernels_count": (WHOLE, "launches of kernels in that trace; 0 on a CPU"),
        "error_relative": (
            REAL,
            "of the result over the largest of the total; of BOFF estimated",
        ),
        "is_recommended": (TRUTH, "least memory among those within 3 % of the fastest"),
    },
)
schema(
    "chunk_recommendations",
    'What to set for an operator, and how far "auto" is from it.',
    {
        "operator": (TEXT, "`B`, `BOFF`, `GRADB`"),
        "chunk_size": (WHOLE, "sources of a tile to set"),
        "target_chunk_size": (WHOLE, "targets of a tile to set"),
        "ratio_to_best": (REAL, "its time over that of the fastest size"),
        "held_out_ratio_to_best": (
            REAL,
            "the same when every other process chooses and the rest judge; of 2 or more",
        ),
        "auto_ratio_to_best": (REAL, 'time of "auto" over that of the fastest size'),
        "temp_bytes": (WHOLE, "temporaries, bytes"),
        "auto_temp_bytes": (WHOLE, 'those of "auto", bytes'),
    },
)
