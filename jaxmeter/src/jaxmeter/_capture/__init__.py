"""Find the arrays that a function captures, the holders of the arrays and the lines that use
them."""
