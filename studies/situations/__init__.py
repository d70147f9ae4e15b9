"""Compare what jaxmeter reports about captured arrays with what is true by construction."""
