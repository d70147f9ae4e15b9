"""``jaxmeter package.module:function``: measure a case in a fresh process.

``jaxmeter audit``, ``retraces``, ``diff``, ``memory`` and ``calibrate`` answer other questions.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from jaxmeter import commands
from jaxmeter.cell import Cell
from jaxmeter.errors import JaxmeterError
from jaxmeter.parameters import parameter
from jaxmeter.run import run_cell
from jaxmeter.terminal import table


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print a table; 0 if the measurement is good, 1 if it is not, 2 for bad usage."""
    given = sys.argv[1:] if argv is None else argv
    if given and given[0] in commands.COMMANDS:
        return commands.main(given[0], given[1:])
    parser = argparse.ArgumentParser(
        prog="jaxmeter",
        description="Measure a JAX function in a fresh process: its phases, captured constants, "
        "retraces, program and memory.",
        epilog="jaxmeter audit TARGET finds captured arrays, retraces TARGET the causes of traces, "
        "diff TARGET TARGET what differs in two programs, memory TARGET the largest buffers; "
        "calibrate measures what baking costs here. Each has its --help.",
    )
    parser.add_argument(
        "target", help="package.module:function; it returns jaxmeter.Case(fn, args)"
    )
    parser.add_argument(
        "-p",
        "--param",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a keyword argument for the target, a number, true, false, null or a text",
    )
    parser.add_argument("--repeat", type=int, default=20, help="settled samples (default 20)")
    parser.add_argument(
        "--timeout", type=float, default=600.0, metavar="SECONDS", help="limit (default 600)"
    )
    parser.add_argument("--json", metavar="FILE", help="write the record there as well")
    options = parser.parse_args(given)
    try:
        cell = Cell(
            name=options.target,
            target=options.target,
            params=dict(map(parameter, options.param)),
            repeat=options.repeat,
            timeout_seconds=options.timeout,
            path=(os.getcwd(),),  # as python -m does
        )
    except JaxmeterError as error:
        print(error, file=sys.stderr)
        return 2
    record = run_cell(cell)
    print(table(record))
    if record.failure is not None:
        print(record.failure.traceback or record.failure.output, file=sys.stderr)
    if options.json:
        try:
            Path(options.json).write_text(record.to_json(indent=2) + "\n")
        except OSError as error:
            print(f"--json: got {options.json!r} ({error}); give a path that can be written")
            return 2
    return 0 if record.status == "ok" else 1


if __name__ == "__main__":
    sys.exit(main())
