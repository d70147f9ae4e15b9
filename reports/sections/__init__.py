"""Make the sections of the report, one in each file, and the head of a page."""
