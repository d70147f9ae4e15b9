"""Stores of records: read, merged, compacted; and the machines that they come from."""
