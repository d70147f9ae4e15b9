"""Compile programs, divide them into groups that run in parallel, and loop over tiles."""
