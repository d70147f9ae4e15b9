"""Measure one case in this process, phase by phase."""
