"""Measure the steady state.

`call_seconds` should return a list of five times in seconds: one for each of five complete
steady-state calls of a jitted function. `clock()` returns the current time in seconds.
"""


def call_seconds(function, x, clock):
    seconds = []
    for _ in range(5):
        start = clock()
        function(x)
        seconds.append(clock() - start)
    return seconds
