"""The profiling workshop's exercises: ``python -m workshop`` shows the next one and checks it."""
