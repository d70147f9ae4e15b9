"""The sections of the report: each file has a summary, its figure, table and sentences."""
