"""Find the arrays that a function captures, the objects that hold these arrays, and the lines that
use the arrays. The function is traced, but not compiled or run.

exit codes: 0 all captured variables are fine to embed, and no constant folding is slow; 1 a
captured variable is too large, or constant folding is slow; 2 bad usage; 3 the function could not
be imported or traced
"""

from __future__ import annotations

import argparse

import jaxmeter
from jaxmeter._cli.command import add_target_options, using_case
from jaxmeter._records.audit import DEFAULT_THRESHOLD_BYTES, Audit


def add_options(parser: argparse.ArgumentParser) -> None:
    add_target_options(parser)
    parser.add_argument(
        "--threshold",
        type=int,
        default=DEFAULT_THRESHOLD_BYTES,
        metavar="BYTES",
        help="largest size of a variable that is fine to embed (default %(default)s)",
    )


def run(options: argparse.Namespace) -> tuple[Audit, bool]:
    with using_case("audit", options.target, options, "tracing") as case:
        found = jaxmeter.audit(case, threshold_bytes=options.threshold)
    return found, found.verdict == "fine"
