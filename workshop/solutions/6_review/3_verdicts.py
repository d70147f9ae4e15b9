EQUAL = "inconclusive"
SLOWER = "different"
STEP = 12
