"""Name the commits.

The repository of lesson 6 has seven commits, 0 to 6. There are three quantities: the captured
bytes, the equations and the temporaries. At which commit does each quantity grow by the
largest factor?
"""

CAPTURED = 2
EQUATIONS = 4
MEMORY = 6
