"""Compare jaxmeter's reports on captured arrays with the truth, known by construction."""
