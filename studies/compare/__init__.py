"""The whole cost of an answer: vcjax and the C++ package, cold and warm."""
