"""Measure the cost of closing over arrays instead of passing them: docs/closure.md."""
