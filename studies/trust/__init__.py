"""Measure how often `jaxmeter compare` is wrong and how small an effect it finds: docs/trust.md."""
