"""Does the meter say of programs that capture arrays what is true by construction?

``python situations.py --out measured`` measures the programs of ``tests/jaxmeter`` in processes of
their own, in both ways that JAX treats constants, and writes what is true and what was said as
``situations_jax_VERSION.csv``. It ends with exit code 1 if anything is not as it is.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax

import jaxmeter

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

jax.config.update("jax_enable_x64", True)

from tests.jaxmeter.capture import capture_situations, held_situations  # noqa: E402

SIMPLIFIED_LEAST = (0, 8)
"""JAX 0.7 fails to lower in simplified mode."""
SMALL_BYTES = 32
"""In simplified mode arrays of so many bytes or fewer stay embedded."""


def captured_rows(simplified: bool) -> Iterator[dict[str, Any]]:
    """Of each program that captures: bytes, and by the audit paths and lines."""
    environment = {"JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS": str(int(simplified))}
    environment |= {"JAX_ENABLE_X64": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-P", capture_situations.__file__],
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        check=True,
        timeout=600,
    )
    for name, told in json.loads(done.stdout).items():
        truth, found = capture_situations.SITUATIONS[name], told["constants"]
        arrays = jaxmeter.Audit.from_json(told["audit"]).arrays
        embedded = [size for size in truth.embedded if not simplified or size <= SMALL_BYTES]
        lines = capture_situations.marked_lines(name)
        yield row(
            name,
            "simplified" if simplified else "default",
            captured_bytes=(sum(truth.captured), found["captured_bytes"]),
            embedded_bytes=(sum(embedded), found["embedded_bytes"]),
            embedded_count=(len(embedded), found["embedded_count"]),
            hidden_argument_bytes=(
                sum(truth.hidden) if simplified else 0,
                found["hidden_argument_bytes"],
            ),
            paths=(sorted(truth.paths), sorted(array.path for array in arrays)),
            lines=(
                sorted({number for numbers in lines.values() for number in numbers}),
                sorted({use.line for array in arrays for use in array.uses}),
            ),
        )


def held_rows() -> Iterator[dict[str, Any]]:
    """Of each way to hold an array: bytes and the path."""
    size = held_situations.CUBE_BYTES
    for name, truth in held_situations.HELD.items():
        found = jaxmeter.audit(truth.fn, held_situations.X)
        yield row(
            name,
            "default",
            captured_bytes=(size, found.captured_bytes),
            embedded_bytes=(size, found.embedded_bytes),
            embedded_count=(1, found.embedded_count),
            paths=([truth.path], [array.path for array in found.arrays]),
        )


def row(situation: str, constants: str, **pairs: tuple[Any, Any]) -> dict[str, Any]:
    """What is true beside what was said, and whether they are the same."""
    told: dict[str, Any] = {"situation": situation, "constants": constants}
    for name, (truth, found) in pairs.items():
        told |= {f"{name}_true": text(truth), f"{name}_told": text(found)}
    told["right"] = "yes" if all(truth == found for truth, found in pairs.values()) else "no"
    return told


def text(value: Any) -> str:
    """A number, or several things with semicolons between."""
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)


def main() -> int:
    """Measure, write the table; 0 if all is right."""
    parser = argparse.ArgumentParser(description="Compare what the meter says with the truth.")
    parser.add_argument("--out", type=Path, required=True, help="the folder for the table")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)  # before what takes a while
    rows = [*captured_rows(simplified=False), *held_rows()]
    if jax.__version_info__ >= SIMPLIFIED_LEAST:
        rows += captured_rows(simplified=True)
    file = options.out / f"jax_{jax.__version__}.csv"
    with file.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(dict.fromkeys(key for one in rows for key in one)))
        writer.writeheader()
        writer.writerows(rows)
    wrong = [f"{one['situation']} ({one['constants']})" for one in rows if one["right"] == "no"]
    print(f"{file.name}: {len(rows) - len(wrong)} of {len(rows)} right")
    for name in wrong:
        print(f"  not {name}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
