"""Compare jaxmeter's reports on captured arrays with the truth, which is known by construction."""
