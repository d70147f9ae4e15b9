"""How often `jaxmeter compare` is wrong, and how small a difference it finds: docs/trust.md."""
