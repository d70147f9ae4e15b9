"""``python -m studies STUDY``: repeat a measurement shown in docs/, or rewrite tables of docs/."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measuring.checkout import CheckoutError
from jaxmeter import JaxmeterError
from studies.harness import StudyError, work

STUDIES = {
    "trust": ("trust.measure", "false alarms and detection rates of jaxmeter compare"),
    "verdicts": ("trust.verdicts", "judge the pairs that the study trust measured"),
    "exact": ("trust.exact", "changes that jaxmeter compare finds without measuring times"),
    "hoisting": ("trust.hoisting", "compile times of a function before and after hoisting"),
    "situations": (
        "situations.situations",
        "compare jaxmeter's reports on captured arrays with the truth",
    ),
    "detection": ("detection.study", "injected regressions that a review finds"),
    "edits": ("detection.edits", "innocent-looking edits that a review finds"),
    "timed": ("detection.timed", "edits that change only the times of operations"),
    "lock": ("detection.lock", "injected regressions that jaxmeter lock --check finds"),
    "closure": ("closure.study", "the cost of closing over arrays"),
    "compile": ("compile.study", "slow lines that a compile profile finds; profiles of vcjax"),
    "compare": ("compare.study", "times of vcjax and the C++ package, cold and in steady state"),
    "accuracy": ("accuracy.study", "errors and error estimates, by shape and digits"),
    "fleet": ("fleet.study", "size and cost of a fleet of a million records"),
    "chunks": ("chunks.study", "the best tile sizes on this machine"),
    "docs": ("docs", "rewrite the tables of docs/ from the committed rows"),
}
"""The module in this package and the help text of each study."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a study and return its exit code.

    The code is 0 if the study succeeded, 2 if an error stopped the study, and 130 if the user
    interrupted the study. Some studies return 1 if a result is wrong or a process failed.
    """
    parser = argparse.ArgumentParser(prog="python -m studies", description=__doc__)
    studies = parser.add_subparsers(dest="study", required=True)
    given = sys.argv[1:] if argv is None else list(argv)
    if given[:1] == ["worker"]:
        work(given[1], Path(given[2]))
        return 0
    for name, (module, help_text) in STUDIES.items():
        chosen = studies.add_parser(
            name, help=help_text, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        if given[:1] == [name]:
            study = importlib.import_module(f"studies.{module}")
            chosen.description = study.__doc__
            study.add_arguments(chosen)
            chosen.set_defaults(run=study.run)
    options = parser.parse_args(given)
    try:
        return options.run(options)
    except (StudyError, CheckoutError, JaxmeterError, OSError) as error:
        print(f"studies {options.study}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"\nstudies {options.study}: interrupted; run the study again", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
