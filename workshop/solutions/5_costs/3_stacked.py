"""Use one operation instead of many.

`rotated` computes each component of the points on its own, and stacks the components. Three
equations should be enough.
"""


def rotated(matrix, points):
    return points @ matrix.T
