"""Define measurements and verdicts as immutable plain data; read and write files."""
