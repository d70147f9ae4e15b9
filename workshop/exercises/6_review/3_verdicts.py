"""Judge recorded comparisons.

Lesson 2 prints two comparisons: of `selu` with itself, and with a slower version. Which verdict
does each comparison give for the steady-state time: "same", "different" or "inconclusive"? From
which commit on is the history of lesson 6 slower?
"""

EQUAL = ""
SLOWER = ""
STEP = None
