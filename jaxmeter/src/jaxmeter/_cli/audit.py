"""``jaxmeter audit package.module:function``: which arrays are embedded, and by which lines."""

from __future__ import annotations

import argparse

from jaxmeter._cli.common import TARGET_HELP, add_arguments, doing, prepared
from jaxmeter._measure.case import name_of
from jaxmeter._records.audit import DEFAULT_THRESHOLD_BYTES, Audit

DESCRIPTION = (
    "Find the arrays that a function captures, who holds them and which lines use them. The "
    "function is traced, not compiled or run."
)
EXIT_CODES = (
    "exit codes: 0 all is fine to embed; 1 something is too large or folded slowly; 2 bad usage; "
    "3 the function could not be imported or traced"
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", help=TARGET_HELP)
    add_arguments(parser)
    parser.add_argument(
        "--threshold",
        type=int,
        default=DEFAULT_THRESHOLD_BYTES,
        metavar="BYTES",
        help="fine to embed of one variable (default %(default)s)",
    )


def answer(options: argparse.Namespace) -> tuple[Audit, bool]:
    case = prepared("audit", options.target, options)
    from jaxmeter._capture.audit import audit

    with doing(f"tracing {name_of(case.fn)}"):
        found = audit(case, threshold_bytes=options.threshold)
    return found, found.verdict == "fine"
