"""``python -m studies STUDY``: measure a claim of docs/ again, or rewrite the tables of docs/."""

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
    "trust": ("studies.trust.measure", "how often jaxmeter compare is wrong, what it finds"),
    "verdicts": ("studies.trust.verdicts", "judge the rows of trust"),
    "exact": ("studies.trust.exact", "changes that jaxmeter compare finds without measuring times"),
    "hoisting": ("studies.trust.hoisting", "compile times of a function whose array is hoisted"),
    "situations": ("studies.situations.situations", "captured arrays, reported and true"),
    "detection": ("studies.detection.study", "injected regressions that a review finds"),
    "edits": ("studies.detection.edits", "innocent-looking edits that a review finds"),
    "timed": ("studies.detection.timed", "edits that only times of operations show"),
    "lock": ("studies.detection.lock", "injected regressions that jaxmeter lock --check finds"),
    "closure": ("studies.closure.study", "the cost of closing over arrays"),
    "compile": (
        "studies.compile.study",
        "slow lines that a compile profile finds; vcjax's programs",
    ),
    "compare": ("studies.compare.study", "vcjax and the C++ package, from a cold process on"),
    "accuracy": ("studies.accuracy.study", "errors and their estimates, by shape and digits"),
    "fleet": ("studies.fleet.study", "sizes and costs of a million records in a fleet"),
    "chunks": ("studies.chunks.study", "the best tile sizes on this machine"),
    "docs": ("studies.docs", "write the tables of docs/ again from the committed rows"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a study; return 0 if done, 1 if its result is negative, 2 if it cannot be measured."""
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
            study = importlib.import_module(module)
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
        print(f"\nstudies {options.study}: interrupted; rerun to resume", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
