"""Measure the compile time per embedded megabyte, and store the result for later audits.
The measurement takes a few seconds.

exit codes: 0 done; 2 bad usage; 3 the time could not be measured or stored
"""

from __future__ import annotations

import argparse

import jaxmeter
from jaxmeter._records.audit import Calibration


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add nothing, because this command has no options of its own."""


def run(options: argparse.Namespace) -> tuple[Calibration, bool]:
    return jaxmeter.calibrate(), True
