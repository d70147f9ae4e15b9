"""Judge recorded comparisons.

Lesson 2 prints two comparisons: of `selu` with itself, and with a slower version. What does each
show of the steady-state call: "same", "different" or "inconclusive"? And from which commit on is
the history of lesson 6 slower?
"""

EQUAL = ""
SLOWER = ""
STEP = None
