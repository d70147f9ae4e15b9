"""Compute sums over sources: far parts, near parts, gradients, and fields off the surface."""
