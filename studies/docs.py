"""Rewrite the tables of docs/ from the committed results of the studies."""

from __future__ import annotations

import argparse

from studies.accuracy import study as accuracy
from studies.chunks import tables as chunks
from studies.closure import study as closure
from studies.compare import tables as compare
from studies.compile import tables as compile_tables
from studies.detection import edits, findings, timed
from studies.fleet import study as fleet
from studies.harness import ROOT, with_tables
from studies.trust import page as trust

MODULES = (accuracy, trust, findings, edits, timed, fleet, chunks, closure, compare, compile_tables)
TABLES = {name: make for module in MODULES for name, make in module.TABLES.items()}
"""The function that makes each table of docs/, by the name of the table."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Leave the parser unchanged, because this command has no options."""


def run(options: argparse.Namespace) -> int:
    """Make the tables of docs/ again, and write the pages that changed."""
    for path in sorted((ROOT / "docs").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        written = with_tables(text, TABLES)
        if written != text:
            path.write_text(written, encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")
    return 0
