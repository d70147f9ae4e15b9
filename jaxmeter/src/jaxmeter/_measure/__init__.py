"""Measure one case, in this process or in a fresh worker."""
