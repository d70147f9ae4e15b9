"""Compare the whole cost of an answer: vcjax and the C++ package, cold and in the steady state."""
