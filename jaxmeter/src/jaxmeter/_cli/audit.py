"""Find the arrays that a function captures, who holds them and which lines use them.
The function is traced, not compiled or run.

exit codes: 0 all is fine to embed; 1 an array is too large or folded slowly;
2 bad usage; 3 the function could not be imported or traced
"""

from __future__ import annotations

import argparse

from jaxmeter._cli.command import add_target_options, doing, prepared
from jaxmeter._measure.case import name_of
from jaxmeter._records.audit import DEFAULT_THRESHOLD_BYTES, Audit


def add_options(parser: argparse.ArgumentParser) -> None:
    add_target_options(parser)
    parser.add_argument(
        "--threshold",
        type=int,
        default=DEFAULT_THRESHOLD_BYTES,
        metavar="BYTES",
        help="fine to embed of one variable (default %(default)s)",
    )


def run(options: argparse.Namespace) -> tuple[Audit, bool]:
    case = prepared("audit", options.target, options)
    from jaxmeter._capture.audit import audit

    with doing(f"tracing {name_of(case.fn)}"):
        found = audit(case, threshold_bytes=options.threshold)
    return found, found.verdict == "fine"
