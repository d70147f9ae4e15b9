"""Name the commits.

The repository of lesson 6 has seven commits, 0 to 6. Which of them makes each quantity grow
most: the captured bytes, the equations, or the temporaries?
"""

CAPTURED = None
EQUATIONS = None
MEMORY = None
