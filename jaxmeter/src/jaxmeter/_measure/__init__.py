"""Measure a case in this process, phase by phase."""
