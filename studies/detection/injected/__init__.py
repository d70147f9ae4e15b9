"""Regressions to inject into vcjax, to measure whether a review finds them and names their place.

Each module has a function ``inject``, which gets the imported package and replaces a good function
by a worse one; ``python -m benchmarks.measuring.pair HEAD HEAD --inject NAME`` measures with it.
The answer stays right, unless a wrong answer is the regression.
`studies.detection.findings.INJECTED` lists them with the metrics that must find them.
"""
