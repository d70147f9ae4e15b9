"""Find the arrays that a function captures, who holds them and which lines use them."""
