"""Plan measurements, run them, compare two commits, and store the records."""
