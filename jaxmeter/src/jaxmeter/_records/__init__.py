"""Measurements and verdicts as immutable plain data that round-trips through JSON."""
