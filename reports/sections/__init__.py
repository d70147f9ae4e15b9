"""Make the sections of the report; each file has a summary, figure, table and sentences."""
