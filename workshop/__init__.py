"""The profiling workshop; ``python -m workshop`` checks the exercises and shows the next one."""
