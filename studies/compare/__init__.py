"""Compare the cost of vcjax and of the C++ package, in a cold process and in the steady state."""
