"""Measure errors and error estimates on shapes from circular to sharp: docs/accuracy.md."""
