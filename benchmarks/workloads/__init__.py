"""The programs that the suites measure; they may import vcjax, but not jaxmeter."""
