"""Measure how often `jaxmeter compare` is wrong, and how small an effect it finds.

The results are in docs/trust.md.
"""
