"""Regressions to plant in vcjax, to see whether a review finds them and says where they are.

Each module has a function ``inject`` that is given the package once it is imported and puts a worse
function in the place of a good one; ``python -m benchmarks.measuring.pair HEAD HEAD --inject NAME``
measures with it. Its answer stays right, unless that is the regression.
"""
