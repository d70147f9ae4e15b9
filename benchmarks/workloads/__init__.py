"""The programs that the suites measure; they import vcjax but not jaxmeter."""
