"""Benchmark cases: functions that run in worker processes and return a `jaxmeter.Case`."""
