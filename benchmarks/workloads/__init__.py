"""The programs that the suites measure. These modules may import vcjax, but not jaxmeter."""
