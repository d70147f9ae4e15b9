"""What jaxmeter reports about captured arrays, next to what is true by construction."""
