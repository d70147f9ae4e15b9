"""Run a program twice with JAX's persistent cache, which is empty before the first run. Show how
much time the cache saves in the second run, which functions the second run does not find in the
cache and why, and which settings of the cache to use. If the first run fails, there is no second
run.

example: jaxmeter cache -- python script.py --its --arguments
(instead of python script.py, give -m module, or pytest and its arguments)

The results are printed to standard error. The cache is temporary and is removed at the end.

exit codes: 0 to 255 the exit code of the program. Codes 2 and 3 may also come from jaxmeter: 2 for
bad usage, 3 for an error of jaxmeter
"""

from __future__ import annotations

import argparse

from jaxmeter._cli.watch import add_program
from jaxmeter._records.cache import CacheDiagnosis
from jaxmeter._records.files import temporary_folder
from jaxmeter._watch.doctor import diagnose_cache


def add_options(parser: argparse.ArgumentParser) -> None:
    add_program(parser)


def run(options: argparse.Namespace) -> tuple[CacheDiagnosis, int]:
    with temporary_folder("jaxmeter-cache-") as folder:
        found = diagnose_cache(options.program, folder)
    return found, found.exit_code
