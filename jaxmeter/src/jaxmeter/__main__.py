"""``jaxmeter package.module:function``: measure a case in a fresh process.

``jaxmeter audit``, ``compare`` and other commands answer other questions.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from jaxmeter._cli import common
from jaxmeter._render.terminal import leaving_reader


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command, or measure where none is named; the exit codes are told by --help."""
    given = sys.argv[1:] if argv is None else argv
    command, rest = common.MEASURE, given
    if given and given[0] in common.COMMANDS:
        command, rest = given[0], given[1:]
    elif given and not given[0].startswith("-") and ":" not in given[0]:
        print(
            f"jaxmeter: got target={given[0]!r}; give 'package.module:function' or a command: "
            + ", ".join(common.COMMANDS),
            file=sys.stderr,
        )
        return 2
    try:
        return common.main(command, rest)
    finally:
        with leaving_reader():  # that of a --help may have left as well
            pass


if __name__ == "__main__":
    sys.exit(main())
