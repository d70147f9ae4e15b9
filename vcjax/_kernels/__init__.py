"""Sums over sources: far tiles, near patches, gradients, and points off the surface."""
