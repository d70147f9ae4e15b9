"""Sizes and costs of a fleet of a million records."""
