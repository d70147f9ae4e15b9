"""The folder that ``jaxmeter watch`` puts on PYTHONPATH."""
