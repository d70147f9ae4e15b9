"""Measure a case, a function with its arguments, in this process and phase by phase."""
