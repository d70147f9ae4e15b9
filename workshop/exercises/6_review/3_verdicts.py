"""Judge recorded comparisons.

Lesson 2 prints two comparisons: `selu` with itself (EQUAL), and `selu` with a slower version
(SLOWER). Which verdict does each comparison give for the steady-state time: "same", "different" or
"inconclusive"? Which commit in the history of lesson 6 is the first slower commit (STEP)?
"""

EQUAL = ""
SLOWER = ""
STEP = None
