"""``jaxmeter audit package.module:function``: which arrays are baked in, and by which lines."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from jaxmeter.audit_record import DEFAULT_THRESHOLD_BYTES, Audit
from jaxmeter.audit_text import audit_markdown, audit_table
from jaxmeter.case import Case
from jaxmeter.errors import JaxmeterError
from jaxmeter.parameters import parameter
from jaxmeter.targets import TARGET, resolve

_EXIT_CODES = (
    "exit codes: 0 all is fine to bake; 1 something is too large or folded slowly; 2 bad usage; "
    "3 the function could not be imported or traced"
)


def main(argv: Sequence[str]) -> int:
    """Audit, print a table; the exit codes are those that the help tells."""
    options = _parser().parse_args(argv)
    sys.path.insert(0, os.getcwd())  # as python -m does
    try:
        audited = _audited(options)
        _write(options, audited)
    except JaxmeterError as error:
        print(error, file=sys.stderr)
        return 2
    except Exception:
        traceback.print_exc()
        return 3
    finally:
        sys.path.remove(os.getcwd())
    return 0 if audited.verdict == "fine" else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="jaxmeter audit",
        description="Find the arrays that a function captures, who holds them and which lines use "
        "them. The function is traced, not compiled or run.",
        epilog=_EXIT_CODES,
    )
    parser.add_argument(
        "target",
        help="package.module:function; without --arg, --npz and --pickle its arguments are those "
        "of jaxmeter_arguments(name) in the module, or else it returns jaxmeter.Case(fn, args)",
    )
    given = parser.add_mutually_exclusive_group()
    given.add_argument(
        "-a",
        "--arg",
        action="append",
        default=[],
        metavar="[NAME=]ARGUMENT",
        help="an argument, as type and shape, f64[64,3], or a number",
    )
    given.add_argument("--npz", metavar="FILE", help="arguments as saved by numpy.savez")
    given.add_argument(
        "--pickle", metavar="FILE", help="a pickled tuple of arguments, or (args, kwargs)"
    )
    parser.add_argument(
        "-p",
        "--param",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a keyword argument for what makes the case, a number, true, false, null or a text",
    )
    parser.add_argument(
        "--threshold",
        type=int,
        default=DEFAULT_THRESHOLD_BYTES,
        metavar="BYTES",
        help="fine to bake of one variable (default %(default)s)",
    )
    parser.add_argument(
        "--json", metavar="FILE", help="write the audit there; - instead of the table"
    )
    parser.add_argument("--markdown", metavar="FILE", help="the same in Markdown")
    return parser


def _audited(options: argparse.Namespace) -> Audit:
    if not TARGET.fullmatch(options.target):
        raise JaxmeterError(f"audit: got target={options.target!r}; give 'package.module:function'")
    if options.json == "-" and options.markdown == "-":
        raise JaxmeterError("audit: got - for both --json and --markdown; give one a file")
    fn = resolve("audit", options.target, "JAX can trace")
    # Only now, for the module may have its say on JAX's configuration.
    from jaxmeter.arguments import from_module, from_npz, from_pickle, from_texts
    from jaxmeter.auditing import audit

    if options.arg or options.npz or options.pickle:
        if options.npz:
            args, kwargs = from_npz(options.npz)
        elif options.pickle:
            args, kwargs = from_pickle(options.pickle)
        else:
            args, kwargs = from_texts(options.arg)
        case = Case(fn, tuple(args), kwargs)
    else:
        case = from_module(fn, options.target, dict(map(parameter, options.param)))
    return audit(case, threshold_bytes=options.threshold)


def _write(options: argparse.Namespace, audited: Audit) -> None:
    if "-" not in (options.json, options.markdown):
        print(audit_table(audited))
    texts = {"--json": audited.to_json(indent=2), "--markdown": audit_markdown(audited)}
    for option, file in (("--json", options.json), ("--markdown", options.markdown)):
        if file == "-":
            print(texts[option])
        elif file is not None:
            try:
                Path(file).write_text(texts[option] + "\n")
            except OSError as error:
                raise JaxmeterError(
                    f"{option}: got {file!r} ({error}); give a path that can be written"
                ) from None
