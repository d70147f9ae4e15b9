"""How fast does a function compile whose 256 MB capture `jaxmeter.hoist` took out?

``python hoisting.py --out measured/hoisting.csv --processes 6`` compiles three forms of one
function in fresh processes: the array captured, taken out by `hoist`, and as an argument written by
hand. Each process compiles the latter two in turns, JAX's caches cleared before each, and compares
the answers bit by bit.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

MEGABYTES = 256
TURNS = 9


def process(swapped: bool) -> dict[str, Any]:
    """What one process finds; seconds are of tracing, lowering and compiling."""
    import gc
    import time

    import jax
    import jax.numpy as jnp
    import numpy as np

    import jaxmeter
    from jaxmeter import load_1min

    draw = np.random.default_rng(0)
    rows = MEGABYTES * 1_000_000 // (4 * 8000)
    table = jnp.asarray(draw.normal(size=(rows, 8000)).astype("float32"))
    x = jnp.asarray(draw.normal(size=8000).astype("float32"))

    def captured(x: Any) -> Any:
        return jnp.tanh(table @ x) * table[:, 0]

    def by_hand(table: Any, x: Any) -> Any:
        return jnp.tanh(table @ x) * table[:, 0]

    def compiled(fn: Any, *args: Any) -> tuple[Any, float]:
        jax.clear_caches()
        gc.collect()
        start = time.perf_counter()
        made = jax.jit(fn).trace(*args).lower().compile()
        return made, time.perf_counter() - start

    hoisted, constants = jaxmeter.hoist(captured, x)
    forms = {"by hand": (by_hand, table), "hoisted": (hoisted, constants)}
    compiled(lambda x: x + 1, x)  # what JAX and XLA do once
    seconds: dict[str, list[float]] = {name: [] for name in forms}
    programs: dict[str, Any] = {}
    for turn in range(TURNS + 1):
        for name in list(forms)[:: -1 if (turn + swapped) % 2 else 1]:
            programs[name], taken = compiled(*forms[name], x)
            if turn:  # the first of each meets what is cold
                seconds[name].append(taken)
    embedded, captured_seconds = compiled(captured, x)
    by_hand_answer = programs["by hand"](table, x)
    return {
        "captured_seconds": captured_seconds,
        "hoisted_seconds": statistics.median(seconds["hoisted"]),
        "by_hand_seconds": statistics.median(seconds["by hand"]),
        "ratio": statistics.median(
            h / b for h, b in zip(seconds["hoisted"], seconds["by hand"], strict=True)
        ),
        "bit_equal_to_by_hand": _bits(programs["hoisted"](constants, x), by_hand_answer),
        "bit_equal_to_captured": _bits(programs["hoisted"](constants, x), embedded(x)),
        "captured_bytes": table.nbytes,
        "load_1min": load_1min(),
        "jax": jax.__version__,
    }


def _bits(a: Any, b: Any) -> bool:
    import numpy as np

    return np.asarray(a).tobytes() == np.asarray(b).tobytes()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--processes", type=int, default=6)
    parser.add_argument("--process", type=int, help="be this process and print what it finds")
    options = parser.parse_args()
    if options.process is not None:
        print(json.dumps(process(options.process % 2 == 1)))
        return
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with options.out.open("w", newline="") as file:
        lines: csv.DictWriter[str] | None = None
        for number in range(options.processes):
            command = [sys.executable, "-m", "studies.trust.hoisting", "--process", str(number)]
            env = os.environ | {"JAX_ENABLE_COMPILATION_CACHE": "false"}
            done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
            row = {"process": number, **json.loads(done.stdout)}
            if lines is None:
                lines = csv.DictWriter(file, row, lineterminator="\n")
                lines.writeheader()
            lines.writerow(row)
            file.flush()
            print(row, flush=True)


if __name__ == "__main__":
    main()
