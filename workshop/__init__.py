"""The exercises of the profiling workshop: ``python -m workshop`` checks and shows the next one."""
