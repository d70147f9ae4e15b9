def rotated(matrix, points):
    return points @ matrix.T
