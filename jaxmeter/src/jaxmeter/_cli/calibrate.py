"""``jaxmeter calibrate``: measure what embedding arrays costs on this machine."""

from __future__ import annotations

import argparse

from jaxmeter._records.calibration import Calibration

DESCRIPTION = (
    "Measure how long it takes to compile a megabyte that is embedded, and keep it for audits to "
    "tell. It takes some seconds."
)
EXIT_CODES = "exit codes: 0 done; 2 bad usage; 3 it could not be measured or kept"


def add_options(parser: argparse.ArgumentParser) -> None:
    pass


def answer(options: argparse.Namespace) -> tuple[Calibration, bool]:
    from jaxmeter._capture.calibration import calibrate

    return calibrate(), True
