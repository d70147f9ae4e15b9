"""Define measurements and verdicts as immutable plain data that can be stored as JSON."""
