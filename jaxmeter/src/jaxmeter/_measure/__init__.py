"""Measure a case (a function and its arguments) in this process, phase by phase."""
