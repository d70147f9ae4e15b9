"""`python -m reports build`: the report of what the store holds."""

import argparse
import sys
from collections.abc import Sequence

from .errors import ReportError
from .render import write_report
from .report import make_report


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; 0 when the page was written.

    1 with one line when the page has failures alone, 2 with one line when none could be written.
    """
    options = _parser().parse_args(argv)
    try:
        report = make_report(
            options.store,
            options.asv,
            commit=options.commit,
            environment=options.environment,
        )
        page = write_report(report, options.out)
    except (ReportError, OSError) as error:
        print(f"reports build: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    if report.set_aside_count:
        print(f"{report.set_aside_count} unreadable files are listed on the page", file=sys.stderr)
    print(page.resolve())
    if not report.ended_well_count:
        print(
            f"reports build: nothing measured at commit {report.commit[:12]} in "
            f"{report.environment_key} ended well; the page tells what failed",
            file=sys.stderr,
        )
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m reports", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build", help="write tables, figures and the page")
    build.add_argument("--store", default="results/cells", help="folder of measured cells")
    build.add_argument("--asv", default=None, help="asv's results folder, .asv/results")
    build.add_argument("--out", default="results/report", help="folder to write")
    build.add_argument("--commit", default=None, help="beginning of a commit; default the newest")
    build.add_argument(
        "--environment", default=None, help="beginning of an environment key; default the newest"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
