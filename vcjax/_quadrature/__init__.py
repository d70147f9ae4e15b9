"""Decide and tabulate the quadrature of a surface before any field is evaluated."""
