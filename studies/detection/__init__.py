"""Measure how often a review finds an injected regression, and how often it gives a false alarm."""
