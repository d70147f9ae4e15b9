"""The folder that ``jaxmeter watch`` and ``jaxmeter cache`` put on PYTHONPATH."""
