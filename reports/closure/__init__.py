"""Make the report on closing over arrays: what it costs, and why."""
