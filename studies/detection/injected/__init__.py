"""Regressions to inject into vcjax, to measure whether a review finds them and their source lines.

Each module has a function ``inject``, which changes the imported package so that the evaluation of
the field has a regression. The following command measures the regression:
``python -m benchmarks.measuring.pair HEAD HEAD --inject NAME``. The field stays right, unless a
wrong field is the regression. `studies.detection.findings.INJECTED` lists the regressions with the
metrics that must show them.
"""
