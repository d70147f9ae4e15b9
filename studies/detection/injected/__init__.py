"""Regressions to inject into vcjax, to measure whether a review finds them and their source lines.

Each module has a function ``inject``, which takes the imported package and replaces one of its
functions by a function with a regression. The following command measures the regression:
``python -m benchmarks.measuring.pair HEAD HEAD --inject NAME``. The answer of the function stays
right, unless a wrong answer is the regression.
`studies.detection.findings.INJECTED` lists the regressions with the metrics that must find them.
"""
