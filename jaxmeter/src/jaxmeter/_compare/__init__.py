"""Compare two functions, or two sets of records."""
