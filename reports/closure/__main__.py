"""`python -m reports.closure`: the page of the closure study."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ..document.write import write_report
from ..errors import ReportError
from . import versions
from .page import make_closure_report


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; 0 when the page was written, 2 with one line when it could not be."""
    parser = argparse.ArgumentParser(prog="python -m reports.closure", description=__doc__)
    parser.add_argument("--study", type=Path, default=Path("results/closure"), help="its folder")
    parser.add_argument("--casing-store", help="cases of the virtual casing; default the study's")
    parser.add_argument("--out", default="results/closure/report", help="folder to write")
    parser.add_argument("--commit", default=None, help="beginning of a commit; default the newest")
    parser.add_argument(
        "--environment", default=None, help="beginning of a key; default that with most processes"
    )
    parser.add_argument(
        "--keep",
        action="append",
        default=[],
        metavar="ENVIRONMENT",
        help="beginning of a key, whose rows are then kept in the repository for other machines",
    )
    options = parser.parse_args(argv)
    try:
        made = make_closure_report(
            options.study / "cases",
            casing_store=options.casing_store or options.study / "casing",
            audits=options.study / "audits",
            picture=options.study / "picture.png",
            commit=options.commit,
            environment=options.environment,
        )
        page = write_report(made, options.out)
        rows = made.tables["versions"]
        for key in options.keep:
            print(versions.keep(rows.loc[rows["commit"] == made.commit], key))
    except (ReportError, OSError) as error:
        print(f"reports.closure: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    print(page.resolve())
    return 0


if __name__ == "__main__":
    sys.exit(main())
