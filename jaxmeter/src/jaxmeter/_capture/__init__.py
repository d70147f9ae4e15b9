"""Find the arrays that a function captures, the objects that hold these arrays, and the lines that
use these arrays."""
