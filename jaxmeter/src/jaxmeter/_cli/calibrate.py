"""Measure how long it takes to compile a megabyte that is embedded, and keep the result for audits.
It takes some seconds.

exit codes: 0 done; 2 bad usage; 3 it could not be measured or kept
"""

from __future__ import annotations

import argparse

import jaxmeter
from jaxmeter._records.audit import Calibration


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add nothing: calibrating has no options of its own."""


def run(options: argparse.Namespace) -> tuple[Calibration, bool]:
    return jaxmeter.calibrate(), True
