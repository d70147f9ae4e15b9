"""Name the commits.

The repository of lesson 6 has seven commits, 0 to 6. Which of them makes each quantity grow
most: the captured bytes, the equations, or the temporaries?
"""

CAPTURED = 2
EQUATIONS = 4
MEMORY = 6
