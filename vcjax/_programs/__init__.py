"""Compile programs, run them on groups of targets in parallel, and loop over tiles."""
