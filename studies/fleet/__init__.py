"""Measure the size and the cost of a fleet: a million records of many projects."""
