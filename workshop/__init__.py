"""The profiling workshop: ``python -m workshop`` checks exercises and shows the next exercise."""
