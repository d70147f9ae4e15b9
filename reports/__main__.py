"""Run the command line `python -m reports build|closure|history|triage|review|merge|compact`."""

import argparse
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from jaxmeter import JaxmeterError

from .errors import ReportError
from .units import counted

if TYPE_CHECKING:
    from .history.series import History
    from .store.merge import Merged

STORE = "results/records"


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    The docstring of each command explains the codes 0 and 1. The code 2 means an error or, for a
    review, no verdict. Wrong options raise SystemExit with the code 2. An error that the user can
    correct is printed as one line on stderr. For any other error, a traceback is printed. The code
    is then also 2, because 1 can mean a regression.
    """
    options = _parser().parse_args(argv)
    try:
        return options.answer(options)
    except (ReportError, JaxmeterError, OSError) as error:
        print(f"reports {options.command}: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except Exception:
        traceback.print_exc()
        print(
            f"reports {options.command}: this is a bug in the reports; see the traceback above",
            file=sys.stderr,
        )
        return 2


def build(options: argparse.Namespace) -> int:
    """Write the report of a commit in an environment.

    The exit code is 1 if no process of this commit and environment succeeded, else 0.
    """
    from .report import make_report, write_report

    report = make_report(options.store, commit=options.commit, environment=options.environment)
    page = write_report(report, options.out)
    unreadable = list(report.tables["failures"]["status"]).count("unreadable")
    if unreadable:
        files = counted(unreadable, "unreadable file")
        print(f"reports build: {files}; the page lists the reasons", file=sys.stderr)
    print(page.resolve())
    if not report.succeeded_count:
        print(
            f"reports build: no process of commit {report.commit[:12]} in environment "
            f"{report.environment_key} succeeded; the page lists the failures",
            file=sys.stderr,
        )
        return 1
    return 0


def closure(options: argparse.Namespace) -> int:
    """Write the report of the closure study; the exit code is 0 after success.

    With --keep ENVIRONMENT, also write some rows of the table "versions" to
    studies/closure/measured: the rows of this environment at the reported commit.
    """
    from .closure import versions
    from .closure.page import make_closure_report
    from .report import write_report

    made = make_closure_report(
        options.study,
        casing_store=options.casing_store,
        commit=options.commit,
        environment=options.environment,
    )
    page = write_report(made, options.out)
    rows = made.tables["versions"]
    for key in options.keep:
        print(versions.keep(rows.loc[rows["commit"] == made.commit], key))
    print(page.resolve())
    return 0


def history(options: argparse.Namespace) -> int:
    """Write a page that shows every metric across commits; the exit code is 0 after success.

    For a store of records, also write reviews of the newest commits with a change point. A fleet
    (docs/fleet.md) gets no reviews.
    """
    from .history import write_history, write_reviews
    from .store.fleet import is_fleet

    made = _history(options)
    if made.unknown_count:
        unknown = counted(made.unknown_count, "commit")
        print(f"git does not find {unknown} in {options.repository}; see the page", file=sys.stderr)
    page = write_history(made, options.out)
    if not is_fleet(Path(options.store)):
        # Write the page again with links to the reviews. If the reviews are interrupted, the page
        # without links remains.
        reviews = write_reviews(made, options.store, options.out)
        page = write_history(made, options.out, reviews=reviews)
    print(page.resolve())
    return 0


def review(options: argparse.Namespace) -> int:
    """Compare two commits; the exit code is 1 if the review fails, and 0 if it passes.

    The review fails if a gated metric regressed or is missing at HEAD, or if a case with a
    successful process at BASE fails more often at HEAD than at BASE. The gated metrics are the
    errors of the answers and some exact metrics, such as captured bytes. With --gate-times, the
    whole compile time and the steady-state time are gated too.

    The exit code is 2 if nothing can be compared, for example because a commit was not measured, or
    because the commits were measured on different machines or with different versions of JAX. With
    --gate-times, the exit code is also 2 if there is no verdict on times.
    """
    from .commits import known_commits
    from .review import (
        Policy,
        judgements,
        make_review,
        read_commits,
        read_pair,
        review_markdown,
        write_review,
    )

    environment = options.environment
    names = [name for name in (options.base, options.head) if name]
    if len(names) != (2 if options.pair is None else 0):
        pair = "no --pair" if options.pair is None else f"--pair {options.pair}"
        raise ReportError(
            f"review: got {' '.join(names) or 'no names'} and {pair}; give two commits of "
            "the store, BASE and HEAD, or only --pair FOLDER"
        )
    if options.pair is not None:
        commits = read_pair(options.pair, environment=environment)
    else:
        store, clone = Path(options.store), options.repository
        commits = read_commits(store, *names, repository=clone, environment=environment)
    hashes = [side.commit.partition("+")[0] for side in (commits.base, commits.head)]
    known = {one.hash: one for one in known_commits(options.repository, hashes)}
    commits = replace(commits, about=known)
    given = {name: getattr(options, name) for name in ("minimum_effect", "significance")}
    policy = Policy(replace(Policy.criteria, **given), options.gate_times)
    made = make_review(commits, policy)
    page = write_review(made, options.out)
    lines = [*map(str, judgements(made)), made.verdict]
    print(review_markdown(made) if options.markdown else "\n".join(lines))
    print(page.resolve(), file=sys.stderr)
    return made.exit_code


def triage(options: argparse.Namespace) -> int:
    """Print a Markdown digest of regressions and improvements since a date or a commit.

    The exit code is 0 if the digest was printed.
    """
    from .triage import triage as digest

    print(digest(_history(options), options.since, options.repository), end="")
    return 0


def _history(options: argparse.Namespace) -> "History":
    """Return the history of a store or fleet, and list on stderr what was skipped."""
    from .history import make_history
    from .store.fleet import read_any

    store = read_any(options.store)
    for item in store.skipped:
        print(f"skipped: {item.path}: {item.reason}", file=sys.stderr)
    return make_history(store, repository=options.repository)


def merge(options: argparse.Namespace) -> int:
    """Copy several stores into one; the exit code is 1 if some files were refused, else 0."""
    from .store.merge import merge_stores

    return _print_merged(merge_stores(options.sources, options.into), "copied")


def compact(options: argparse.Namespace) -> int:
    """Add stores to a fleet, a folder of Parquet files (docs/fleet.md).

    The exit code is 1 if some files were refused, else 0.
    """
    from .store.fleet import compact as add

    done = add(options.sources, options.into, project=options.project, remove=options.remove)
    return _print_merged(done, "added")


def _print_merged(merged: "Merged", verb: str) -> int:
    for item in merged.refused:
        print(f"not {verb}: {item.path}: {item.reason}", file=sys.stderr)
    print(f"{merged.added_count} records {verb}, {merged.same_count} were there already")
    return 1 if merged.refused else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m reports", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)

    def command(
        name: str, answer: Callable[[argparse.Namespace], int], text: str, out: str | None = None
    ) -> Callable[..., argparse.Action]:
        added = commands.add_parser(name, help=text, description=answer.__doc__)
        added.set_defaults(answer=answer)
        if out is not None:
            added.add_argument("--out", default=out, help="folder to write")
        if name in ("build", "history", "review", "triage"):
            kinds = ", or a fleet" if name in ("history", "triage") else ""
            added.add_argument("--store", default=STORE, help=f"folder of records{kinds}")
        if name in ("history", "review", "triage"):
            about = "git clone that contains the commits"
            added.add_argument("--repository", default=".", type=Path, help=about)
        if name in ("build", "closure"):
            about = "beginning of a commit hash (default: the commit measured last)"
            added.add_argument("--commit", help=about)
        return added.add_argument

    option = command("build", build, "write tables, figures and the page", "results/report")
    about = "beginning of an environment key (default: the environment measured last)"
    option("--environment", help=about)

    option = command(
        "closure", closure, "write the report of the closure study", "results/closure/report"
    )
    option("--study", type=Path, default=Path("results/closure"), help="folder of the study")
    about = "folder of records with variants of the virtual casing (default: STUDY/casing)"
    option("--casing-store", help=about)
    about = "beginning of an environment key (default: the environment with the most processes)"
    option("--environment", help=about)
    about = (
        'beginning of an environment key; write its rows of the table "versions" to '
        "studies/closure/measured"
    )
    option("--keep", action="append", default=[], metavar="ENVIRONMENT", help=about)

    command("history", history, "write a page of every metric across commits", "results/history")

    option = command("triage", triage, "print recent regressions and improvements as Markdown")
    option("--since", required=True, help="a date such as 2026-11-01, or a commit, such as v0.1")

    option = command(
        "review", review, "report regressions of HEAD against BASE", "results/review/page"
    )
    option("base", nargs="?", help="a commit of the store, or a git revision")
    option("head", nargs="?", help="another commit, named in the same way")
    about = "folder written by benchmarks.measuring.pair, to review instead of the store"
    option("--pair", type=Path, help=about)
    about = "beginning of an environment's name; needed if the commits share several environments"
    option("--environment", help=about)
    about = "also fail the review if compile times or steady-state times regressed"
    option("--gate-times", action="store_true", help=about)
    about = "a smaller relative change of a time is not reported (default: 0.05)"
    option("--minimum-effect", type=float, default=0.05, help=about)
    about = "accepted share of reviews with a false alarm (default: 0.01)"
    option("--significance", type=float, default=0.01, help=about)
    option("--markdown", action="store_true", help="print the review as Markdown, with its tables")

    option = command("merge", merge, "copy the stores of several machines into one store")
    option("sources", nargs="+", help="folders of records")
    option("--into", required=True, help="folder of the merged store")

    option = command("compact", compact, "add stores to a fleet of Parquet files (docs/fleet.md)")
    option("sources", nargs="+", help="folders of records")
    option("--into", required=True, help="folder of the fleet")
    option("--project", required=True, help="name of the project of these records")
    option("--remove", action="store_true", help="delete record files once they are in the fleet")
    return parser


if __name__ == "__main__":
    sys.exit(main())
