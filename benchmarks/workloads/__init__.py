"""The programs that the suites measure; they know vcjax and no meter."""
