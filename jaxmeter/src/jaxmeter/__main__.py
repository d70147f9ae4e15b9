"""Run the command line of jaxmeter.

``jaxmeter package.module:function`` measures a case in a fresh process. ``jaxmeter --help`` lists
the other commands, such as ``jaxmeter audit``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from jaxmeter._cli.command import COMMANDS, MEASURE, run_command
from jaxmeter._measure.targets import TARGET_FORM
from jaxmeter._render.terminal import leaving_reader


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that the first argument names, and return the exit code.

    Without arguments, or if the first argument is an option or a target such as
    ``file.py:function``, run the command that measures a target. ``--help`` lists the exit codes.
    """
    given = sys.argv[1:] if argv is None else argv
    command, rest = MEASURE, given
    if given and given[0] in COMMANDS:
        command, rest = given[0], given[1:]
    elif given and not given[0].startswith("-") and ":" not in given[0]:
        print(
            f"jaxmeter: got target={given[0]!r}; give {TARGET_FORM}, or a command: "
            + ", ".join(COMMANDS),
            file=sys.stderr,
        )
        return 2
    try:
        return run_command(command, rest)
    finally:
        with leaving_reader():  # the reader of the --help text may have closed the pipe
            pass


if __name__ == "__main__":
    sys.exit(main())
