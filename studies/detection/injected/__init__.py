"""Regressions to inject into vcjax, to measure whether a review finds them and their source lines.

Each module has a function ``inject``, which takes the imported package and replaces a function by a
function with a regression. ``python -m benchmarks.measuring.pair HEAD HEAD --inject NAME`` measures
the regression. The answer stays right, unless a wrong answer is the regression.
`studies.detection.findings.INJECTED` lists the regressions with the metrics that must find them.
"""
