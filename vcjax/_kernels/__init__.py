"""Sums over sources: far tiles, near patches, gradients, points off the surface."""
