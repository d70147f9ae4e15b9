"""Rewrite the tables of docs/ from the committed rows."""

from __future__ import annotations

import argparse

from studies.accuracy import page as accuracy
from studies.accuracy import patches
from studies.chunks import tables as chunks
from studies.closure import study as closure
from studies.compare import tables as compare
from studies.compile import tables as compile_tables
from studies.detection import edits, timed
from studies.detection import findings as detection
from studies.fleet import study as fleet
from studies.harness import ROOT, with_tables
from studies.trust import page as trust

TABLES = {
    **accuracy.TABLES,
    **patches.TABLES,
    **trust.TABLES,
    **detection.TABLES,
    **edits.TABLES,
    **timed.TABLES,
    **fleet.TABLES,
    **chunks.TABLES,
    **closure.TABLES,
    **compare.TABLES,
    **compile_tables.TABLES,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add no options to the parser."""


def run(options: argparse.Namespace) -> int:
    """Make the tables of docs/ again, and write each document that changed."""
    for path in sorted((ROOT / "docs").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        written = with_tables(text, TABLES)
        if written != text:
            path.write_text(written, encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")
    return 0
