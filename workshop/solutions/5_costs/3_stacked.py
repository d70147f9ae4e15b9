"""One operation instead of many.

`rotated` computes each component of each point on its own and stacks them. Three equations should
be enough.
"""


def rotated(matrix, points):
    return points @ matrix.T
