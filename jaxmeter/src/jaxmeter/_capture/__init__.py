"""Find the arrays that a function captures, their holders and the lines that use them."""
